import { useId } from "react";
import { classes } from "./classes.ts";
import styles from "./Meter.module.css";

interface MeterProps {
  readonly label: string;
  readonly value: number;
  /** The value at which the meter is full. */
  readonly max: number;
  /** The value as text, such as "12 of 60". */
  readonly text: string;
  /** Whether the maximum is a goal. A limit, by contrast, is highlighted when it is close. */
  readonly isGoal?: boolean;
}

/** From this share on, the meter is highlighted. */
const CLOSE = 0.8;

/** A meter of how much of a limit is used. */
export function Meter({ label, value, max, text, isGoal = false }: MeterProps) {
  const share = max === 0 ? 1 : value / max;
  const id = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw their own meter in ways that style sheets can't change
    <div
      className={share >= CLOSE && !isGoal ? classes(styles.meter, styles.meterClose) : styles.meter}
      role="meter"
      aria-labelledby={id}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={text}
    >
      <span id={id}>{label}</span>
      <span className={styles.meterText} aria-hidden="true">
        {text}
      </span>
      <div className={styles.meterTrack}>
        <div className={styles.meterIndicator} style={{ width: `${100 * Math.min(1, share)}%` }} />
      </div>
    </div>
  );
}
