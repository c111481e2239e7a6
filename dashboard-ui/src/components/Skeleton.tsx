import styles from "./Skeleton.module.css";
import textStyles from "./text.module.css";

interface SkeletonProps {
  /** The data that is being loaded, such as "keys", for screen readers. */
  readonly what: string;
  /** Whether a whole page is being loaded: its title, and a list. */
  readonly isPage?: boolean;
}

/** The shape of content that is being loaded. It appears late, so that content which loads at once shows no shape. */
export function Skeleton({ what, isPage = false }: SkeletonProps) {
  return (
    <div className={styles.skeleton} role="status">
      <span className={textStyles.visuallyHidden}>Loading {what}…</span>
      {isPage ? <span className={styles.title} /> : null}
      <div className={styles.rows}>
        <span />
        <span />
        <span />
      </div>
    </div>
  );
}
