import { useSyncExternalStore } from "react";
import { connection } from "../api/connection.ts";
import styles from "./ConnectionLost.module.css";
import { Spinner } from "./Spinner.tsx";

/** A line that shows while the service cannot be reached. */
export function ConnectionLost() {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  return (
    <div className={styles.connection} role="status">
      {isLost ? (
        <p>
          <Spinner /> Connection lost. Trying again…
        </p>
      ) : null}
    </div>
  );
}
