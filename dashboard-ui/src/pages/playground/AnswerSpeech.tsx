import textStyles from "../../components/text.module.css";
import styles from "./AnswerImages.module.css";
import type { Attachment } from "./attachment.ts";
import { DownloadLine } from "./DownloadLine.tsx";

/** What a model has said, to listen to. Its transcript is the text of the message. */
export function AnswerSpeech({ speech: { name, url, bytes } }: { readonly speech: Attachment }) {
  if (url === null) return <p className={textStyles.quiet}>{name} is no longer in this browser.</p>;
  return (
    <div className={styles.item}>
      {/* biome-ignore lint/a11y/useMediaCaption: the transcript is above */}
      <audio controls src={url} className={styles.speech} aria-label="Speech of the model" />
      <DownloadLine name={name} url={url} bytes={bytes} />
    </div>
  );
}
