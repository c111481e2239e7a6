import type { Range } from "./search.ts";

/** A period in whole UTC intervals. `to` is not included. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
  readonly interval: "hour" | "day" | "month";
}

export interface Period {
  readonly span: Span;
  /** The start of each interval of the period, including the current one. */
  readonly starts: readonly Date[];
  /** The preceding period, up to the same point: without this limit, every morning would look worse than the day before. */
  readonly before: Span;
  /** The period's name: "the last 7 days". */
  readonly words: string;
  /** The preceding period's name: "the 7 days before". */
  readonly labelBefore: string;
}

interface Shape {
  readonly interval: Span["interval"];
  readonly count: number;
  /** The interval for the preceding period. It is finer than `interval` if that is too coarse for the cut-off point of `before`. */
  readonly intervalBefore: Span["interval"];
  readonly name: string;
}

const SHAPES: Readonly<Record<Range, Shape>> = {
  "24h": { interval: "hour", count: 24, intervalBefore: "hour", name: "24 hours" },
  "7d": { interval: "day", count: 7, intervalBefore: "hour", name: "7 days" },
  "30d": { interval: "day", count: 30, intervalBefore: "day", name: "30 days" },
  "12mo": { interval: "month", count: 12, intervalBefore: "day", name: "12 months" },
};

/** The period of a range at a given time. It is the same throughout an hour. */
export function periodOf(range: Range, now: Date): Period {
  const { interval, count, intervalBefore, name } = SHAPES[range];
  const starts = Array.from({ length: count }, (_, index) => startOf(now, interval, index + 1 - count));
  const from = startOf(now, interval, 1 - count);
  return {
    span: { from, to: startOf(now, interval, 1), interval },
    starts,
    before: {
      from: startOf(from, interval, -count),
      to: startOf(sameTimeBefore(now, interval, count), intervalBefore, 0),
      interval: intervalBefore,
    },
    words: `the last ${name}`,
    labelBefore: `the ${name} before`,
  };
}

/** The last whole days. */
export function wholeDays(count: number, now: Date): Span {
  return { from: startOf(now, "day", -count), to: startOf(now, "day", 0), interval: "day" };
}

/** The start of an interval, counted from the interval that contains a given time. */
export function startOf(moment: Date, interval: Span["interval"], after: number): Date {
  const [year, month, day, hour] = [
    moment.getUTCFullYear(),
    moment.getUTCMonth(),
    moment.getUTCDate(),
    moment.getUTCHours(),
  ];
  switch (interval) {
    case "hour":
      return new Date(Date.UTC(year, month, day, hour + after));
    case "day":
      return new Date(Date.UTC(year, month, day + after));
    case "month":
      return new Date(Date.UTC(year, month + after));
  }
}

function sameTimeBefore(now: Date, interval: Span["interval"], count: number): Date {
  const passedMs = now.getTime() - startOf(now, interval, 0).getTime();
  return new Date(startOf(now, interval, -count).getTime() + passedMs);
}
