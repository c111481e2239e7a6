import { classes } from "./classes.ts";
import styles from "./Stale.module.css";

/** The properties of an element that fades while it shows an earlier selection and the chosen one is loaded. */
export function staleProps(isStale: boolean, className?: string) {
  return {
    className: classes(styles.content, isStale && styles.stale, className),
    "aria-busy": isStale,
  };
}
