import styles from "./Mark.module.css";
/** The service's logo: a door and its keeper. */
export function Mark() {
  return (
    <svg className={styles.mark} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" className={styles.markWall} />
      <path d="M9 25V14a7 7 0 0 1 14 0v11" className={styles.markDoor} />
      <circle cx="16" cy="19" r="2.5" className={styles.markLight} />
    </svg>
  );
}
