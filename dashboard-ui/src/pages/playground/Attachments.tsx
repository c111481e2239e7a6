import { formatBytes } from "../../components/format.ts";
import styles from "./Attachments.module.css";
import type { Attachment } from "./attachment.ts";

interface AttachmentsProps {
  readonly attachments: readonly Attachment[];
  /** Absent for messages that were sent. */
  readonly remove?: (id: string) => void;
}

/** The images and files of a message. */
export function Attachments({ attachments, remove }: AttachmentsProps) {
  if (attachments.length === 0) return null;
  return (
    <ul className={styles.attachments} aria-label="Attachments">
      {attachments.map((attachment) => (
        <li key={attachment.id} className={styles.attachment}>
          {attachment.kind === "image" && attachment.url !== null ? (
            <img src={attachment.url} alt={attachment.name} className={styles.image} />
          ) : null}
          <span className={styles.name}>
            {attachment.name}{" "}
            <span className={styles.size}>
              {attachment.url === null ? "no longer in this browser" : formatBytes(attachment.bytes)}
            </span>
          </span>
          {remove === undefined ? null : (
            <button
              type="button"
              className={styles.remove}
              aria-label={`Remove ${attachment.name}`}
              onClick={() => remove(attachment.id)}
            >
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
