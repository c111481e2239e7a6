import { useSyncExternalStore } from "react";
import { connection } from "../api/connection.ts";
import { Button } from "./Button.tsx";
import { codeErrorText } from "./lazy.tsx";
import { missingCode } from "./missing-code.ts";
import styles from "./PageWarning.module.css";
import { Spinner } from "./Spinner.tsx";

/** A line that shows while the service cannot be reached, or while a part of the page is missing that only a reload can bring. */
export function PageWarning() {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  const missing = useSyncExternalStore(missingCode.subscribe, missingCode.latest);
  return (
    <div className={styles.warning} role="status">
      {isLost ? (
        <p>
          <Spinner /> Connection lost. Trying again…
        </p>
      ) : missing !== null ? (
        <p>
          {codeErrorText(missing)}
          <Button size="small" onClick={() => location.reload()}>
            Reload
          </Button>
        </p>
      ) : null}
    </div>
  );
}
