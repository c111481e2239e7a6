import type { ReactNode } from "react";
import styles from "./Badge.module.css";
import { classes } from "./classes.ts";

const BADGE = { good: styles.badgeActive, bad: styles.badgeFailed, warning: styles.badgeWarning };

interface BadgeProps {
  readonly tone?: "good" | "bad" | "warning" | undefined;
  readonly children: ReactNode;
}

/** A short state: "active", "404". */
export function Badge({ tone, children }: BadgeProps) {
  return (
    <span className={classes(styles.badge, tone === undefined ? undefined : BADGE[tone])}>{children}</span>
  );
}
