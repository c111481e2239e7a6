import { type KeyboardEvent, type MouseEvent, type PointerEvent, useRef } from "react";
import styles from "./ChartCursor.module.css";
import type { SeriesValue } from "./series-value.ts";

interface ChartCursorProps {
  /** The label of the whole chart. */
  readonly label: string;
  readonly intervals: number;
  /** The index of the interval whose values are announced. */
  readonly at: number;
  /** Whether the values of that interval are shown. */
  readonly isShown: boolean;
  readonly title: string;
  readonly values: readonly SeriesValue[];
  /** Whether each value is announced with its name. */
  readonly isNamed: boolean;
  readonly format: (value: number) => string;
  readonly onMove: (index: number) => void;
  readonly onEnter: () => void;
  readonly onLeave: () => void;
  /** Called on a click with the height at which the interval was hit, as a fraction of 1; on Enter with `null`. */
  readonly onPick: ((index: number, height: number | null) => void) | undefined;
}

/** The number of intervals that Page Up and Page Down move. */
const LEAP = 5;

/** A slider over the plot that moves between intervals by pointer or arrow keys and announces their values. */
export function ChartCursor(props: ChartCursorProps) {
  const { label, intervals, at, isShown, title, values, isNamed, format } = props;
  const { onMove, onEnter, onLeave, onPick } = props;
  // A finger has no other way to look at values than the tap that leads away from them: the first one at an interval only shows them.
  const isLooking = useRef(false);
  const last = intervals - 1;
  const indexAt = (event: MouseEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - left) / width) * intervals);
    return Math.max(0, Math.min(index, last));
  };
  const follow = (event: PointerEvent<HTMLElement>) => onMove(indexAt(event));
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    isLooking.current = event.pointerType === "touch" && !(isShown && indexAt(event) === at);
    follow(event);
  };
  const onClick = (event: MouseEvent<HTMLElement>) => {
    if (isLooking.current) return;
    const { bottom, height } = event.currentTarget.getBoundingClientRect();
    onPick?.(indexAt(event), (bottom - event.clientY) / height);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") return onPick?.(at, null);
    const next = indexAfter(event.key, at, last);
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onMove(next);
  };
  return (
    <div
      className={styles.cursor}
      role="slider"
      tabIndex={0}
      aria-label={`Values of ${label}`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at}
      aria-valuetext={`${title}: ${inWords(values, isNamed, format)}`}
      aria-description={onPick === undefined ? undefined : "Press Enter for the requests of the interval."}
      data-picks={onPick !== undefined}
      onPointerMove={follow}
      onPointerDown={onPointerDown}
      onClick={onClick}
      // Lifting a finger keeps the values that it pointed at visible.
      onPointerLeave={(event) => (event.pointerType === "touch" ? undefined : onLeave())}
      onFocus={onEnter}
      onBlur={onLeave}
      onKeyDown={onKeyDown}
    />
  );
}

function indexAfter(key: string, at: number, last: number): number | null {
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return Math.max(0, at - 1);
    case "ArrowRight":
    case "ArrowUp":
      return Math.min(last, at + 1);
    case "PageDown":
      return Math.max(0, at - LEAP);
    case "PageUp":
      return Math.min(last, at + LEAP);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

function inWords(
  values: readonly SeriesValue[],
  isNamed: boolean,
  format: (value: number) => string,
): string {
  const words = values.map(({ label, value }) => (isNamed ? `${label} ${format(value)}` : format(value)));
  return words.length === 0 ? "none" : words.join(", ");
}
