import { Meter as Base } from "@base-ui/react/meter";
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
  return (
    <Base.Root
      className={share >= CLOSE && !isGoal ? classes(styles.meter, styles.meterClose) : styles.meter}
      value={Math.min(value, max)}
      max={max}
      getAriaValueText={() => text}
    >
      <Base.Label>{label}</Base.Label>
      <span className={styles.meterText} aria-hidden="true">
        {text}
      </span>
      <Base.Track className={styles.meterTrack}>
        <Base.Indicator className={styles.meterIndicator} />
      </Base.Track>
    </Base.Root>
  );
}
