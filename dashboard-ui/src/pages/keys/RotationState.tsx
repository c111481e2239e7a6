import type { ListedKey } from "../../api/types.ts";
import { classes } from "../../components/classes.ts";
import { formatDateTime, formatSpan } from "../../components/format.ts";
import styles from "./RotationState.module.css";

interface RotationStateProps {
  readonly apiKey: ListedKey;
  /** Undefined if the list does not contain the successor. */
  readonly successor: ListedKey | undefined;
}

/** The progress of a key's rotation, and whether the key can be revoked. */
export function RotationState({ apiKey, successor }: RotationStateProps) {
  const { rotation, usage } = apiKey;
  if (rotation === null) return null;
  const span = formatSpan(rotation.idleAfterSeconds);
  return (
    <p className={rotation.isIdle ? classes(styles.rotation, styles.rotationQuiet) : styles.rotation}>
      {successor === undefined ? (
        "Another key replaces this one. "
      ) : (
        <>
          Replaced by “{successor.name}” <code>…{successor.keyId}</code>.{" "}
        </>
      )}
      {rotation.isIdle ? (
        <strong>Unused for {span}. You can revoke it.</strong>
      ) : usage.lastUsedAt !== null && usage.lastUsedAt >= rotation.idleSince ? (
        <>
          <strong>Still used:</strong> last request {formatDateTime(usage.lastUsedAt)} from{" "}
          {usage.lastUsedIp ?? "an unknown address"}.
        </>
      ) : (
        <>
          Unused since {formatDateTime(rotation.idleSince)}. You can revoke it after {span} without use.
        </>
      )}
    </p>
  );
}
