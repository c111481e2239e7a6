import { Meter as Base } from "@base-ui/react/meter";

interface MeterProps {
  readonly label: string;
  readonly value: number;
  /** Where it ends. */
  readonly most: number;
  /** In words, such as "12 of 60". */
  readonly text: string;
  /** Its end is what one waits for, not what one runs into. */
  readonly isGoal?: boolean;
}

/** From here on it is worth a look. */
const CLOSE = 0.8;

/** How much of a limit is taken. */
export function Meter({ label, value, most, text, isGoal = false }: MeterProps) {
  const share = most === 0 ? 1 : value / most;
  return (
    <Base.Root
      className={share >= CLOSE && !isGoal ? "meter meter-close" : "meter"}
      value={Math.min(value, most)}
      max={most}
      getAriaValueText={() => text}
    >
      <Base.Label className="meter-label">{label}</Base.Label>
      <span className="meter-text" aria-hidden="true">
        {text}
      </span>
      <Base.Track className="meter-track">
        <Base.Indicator className="meter-indicator" />
      </Base.Track>
    </Base.Root>
  );
}
