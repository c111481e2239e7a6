import { useEffect, useRef, useState } from "react";
import { loadErrorTextOf } from "../../api/errors.ts";
import buttonStyles from "../../components/Button.module.css";
import { classes } from "../../components/classes.ts";
import { formatCounted } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import styles from "./LiveToggle.module.css";
import type { TailState } from "./tail.ts";

interface LiveToggleProps {
  /** `null` while live updates are off. */
  readonly state: TailState | null;
  readonly isOn: boolean;
  /** The number of entries that have arrived so far. */
  readonly arrived: number;
  readonly onChange: (isOn: boolean) => void;
}

/** The switch for live updates, with the state of the connection. */
export function LiveToggle({ state, isOn, arrived, onChange }: LiveToggleProps) {
  const said = useCountSaid(arrived);
  return (
    <>
      <span className={styles.liveState} data-kind={state?.kind} role="status">
        {state === null ? "" : wordsOf(state)}
      </span>
      <button
        type="button"
        className={classes(buttonStyles.button, styles.liveToggle)}
        aria-pressed={isOn}
        onClick={() => onChange(!isOn)}
      >
        <span className={styles.liveDot} data-kind={state?.kind} aria-hidden="true" />
        Live
      </button>
      <span className={textStyles.visuallyHidden} role="status">
        {said}
      </span>
    </>
  );
}

function wordsOf(state: TailState): string {
  switch (state.kind) {
    case "connecting":
      return "Connecting…";
    case "live":
      return "Connected";
    case "reconnecting":
      return "Reconnecting…";
    case "refused":
      return loadErrorTextOf(state.error);
  }
}

const SAID_EVERY_MS = 10_000;

/** Announces the number of new entries at intervals, not for each entry. */
function useCountSaid(arrived: number): string {
  const [said, setSaid] = useState("");
  const latest = useRef(arrived);
  useEffect(() => {
    latest.current = arrived;
  }, [arrived]);
  useEffect(() => {
    let before = latest.current;
    const timer = setInterval(() => {
      const more = latest.current - before;
      before = latest.current;
      setSaid(more > 0 ? formatCounted(more, "new entry", "new entries") : "");
    }, SAID_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return said;
}
