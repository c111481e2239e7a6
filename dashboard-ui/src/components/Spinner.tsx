import styles from "./Spinner.module.css";
/** Turns while the reader waits. */
export function Spinner() {
  return <span className={styles.spinner} aria-hidden="true" />;
}
