import textStyles from "../../components/text.module.css";
import styles from "./AnswerImages.module.css";
import type { Attachment } from "./attachment.ts";
import { DownloadLine } from "./DownloadLine.tsx";

/** The images that a model has produced. */
export function AnswerImages({ images }: { readonly images: readonly Attachment[] }) {
  if (images.length === 0) return null;
  return (
    <ul className={styles.images} aria-label="Images">
      {images.map(({ id, name, url, bytes }, index) => (
        <li key={id} className={styles.item}>
          {url === null ? (
            <p className={textStyles.quiet}>{name} is no longer in this browser.</p>
          ) : (
            <>
              <img src={url} alt={`Output ${index + 1} of the model`} className={styles.image} />
              <DownloadLine name={name} url={url} bytes={bytes} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
