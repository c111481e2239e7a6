import { formatDateTime, formatSpan } from "../../api/format.ts";
import type { ListedKey } from "../../api/types.ts";

interface RotationStateProps {
  readonly apiKey: ListedKey;
  /** Absent when the list does not hold it. */
  readonly successor: ListedKey | undefined;
}

/** How far a key's successor has taken over, and whether the key can be revoked. */
export function RotationState({ apiKey, successor }: RotationStateProps) {
  const { rotation, usage } = apiKey;
  if (rotation === null) return null;
  const span = formatSpan(rotation.idleAfterSeconds);
  return (
    <p className={rotation.isIdle ? "rotation rotation-quiet" : "rotation"}>
      {successor === undefined ? (
        "Another key takes over. "
      ) : (
        <>
          “{successor.name}” <code>…{successor.keyId}</code> takes over.{" "}
        </>
      )}
      {rotation.isIdle ? (
        <strong>Nobody has used this key for {span}: it can be revoked.</strong>
      ) : usage.lastUsedAt !== null && usage.lastUsedAt >= rotation.idleSince ? (
        <>
          <strong>Still used:</strong> last request {formatDateTime(usage.lastUsedAt)} from{" "}
          {usage.lastUsedIp ?? "an unknown address"}.
        </>
      ) : (
        <>
          Unused since {formatDateTime(rotation.idleSince)}; it can be revoked when it has been for {span}.
        </>
      )}
    </p>
  );
}
