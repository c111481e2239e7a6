import styles from "./Spinner.module.css";
/** A spinner. */
export function Spinner() {
  return <span className={styles.spinner} aria-hidden="true" />;
}
