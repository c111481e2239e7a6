import { Meter as Base } from "@base-ui/react/meter";
import { classes } from "./classes.ts";
import styles from "./Meter.module.css";

interface MeterProps {
  readonly label: string;
  readonly value: number;
  /** The value at which the meter is full. */
  readonly max: number;
  /** In words, such as "12 of 60". */
  readonly text: string;
  /** Its end is what one waits for, not what one runs into. */
  readonly isGoal?: boolean;
}

/** From here on it is worth a look. */
const CLOSE = 0.8;

/** How much of a limit is taken. */
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
