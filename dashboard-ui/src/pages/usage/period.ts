import { dayStart, intervalStart, type UsageInterval } from "../../../../sdk/src/contract/time-intervals.ts";
import { LOCALE } from "../../components/format.ts";
import type { PeriodChoice, Preset } from "./search.ts";

/** A period in whole intervals of a time zone. `to` is not included. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
  readonly interval: UsageInterval;
  readonly timeZone: string;
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
  /** The time zone in which times are shown; `undefined`: none was chosen, so hours are in the reader's. */
  readonly shownZone: string | undefined;
}

interface Shape {
  readonly interval: UsageInterval;
  readonly count: number;
  /** The interval for the preceding period. It is finer than `interval` if that is too coarse for the cut-off point of `before`. */
  readonly intervalBefore: UsageInterval;
  readonly name: string;
}

const SHAPES: Readonly<Record<Preset, Shape>> = {
  "24h": { interval: "hour", count: 24, intervalBefore: "hour", name: "24 hours" },
  "7d": { interval: "day", count: 7, intervalBefore: "hour", name: "7 days" },
  "30d": { interval: "day", count: 30, intervalBefore: "day", name: "30 days" },
  "12mo": { interval: "month", count: 12, intervalBefore: "day", name: "12 months" },
};

/** The time zone of the reader. */
export const LOCAL_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The period of a choice at a given time. It is the same throughout an hour. */
export function periodOf(choice: PeriodChoice, now: Date): Period {
  const timeZone = choice.zone === "local" ? LOCAL_ZONE : "UTC";
  const custom = choice.range === "custom" ? customPeriod(choice, timeZone, now) : null;
  if (custom !== null) return custom;
  const range = choice.range === "custom" ? "7d" : choice.range;
  const { interval, count, intervalBefore, name } = SHAPES[range];
  const start = (later: number, moment = now) => intervalStart(moment, interval, timeZone, later);
  const starts = Array.from({ length: count }, (_, index) => start(index + 1 - count));
  const from = start(1 - count);
  return {
    span: { from, to: start(1), interval, timeZone },
    starts,
    before: {
      from: start(-count, from),
      to: intervalStart(sameTimeBefore(now, interval, timeZone, count), intervalBefore, timeZone),
      interval: intervalBefore,
      timeZone,
    },
    words: `the last ${name}`,
    labelBefore: `the ${name} before`,
    shownZone: interval === "hour" && choice.zone === undefined ? undefined : timeZone,
  };
}

const DAY_MS = 24 * 60 * 60_000;
/** The longest periods by hour and by day. */
const MAX_BY_HOUR = 2;
const MAX_BY_DAY = 92;
/** The longest period that may be chosen, in days. */
export const MAX_CUSTOM_DAYS = 366;

/** The days of a custom period, both included; `null` if they are none. */
export function daysOf({ from, to }: Pick<PeriodChoice, "from" | "to">): number | null {
  if (from === undefined || to === undefined) return null;
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return days >= 1 && days <= MAX_CUSTOM_DAYS ? days : null;
}

function customPeriod({ from, to }: PeriodChoice, timeZone: string, now: Date): Period | null {
  const days = daysOf({ from, to });
  if (days === null || from === undefined || to === undefined) return null;
  const interval = days <= MAX_BY_HOUR ? "hour" : days <= MAX_BY_DAY ? "day" : "month";
  // A month that is chosen in part is shown in part.
  const [begin, end] = [dayStart(from, timeZone), dayStart(to, timeZone, 1)];
  const first = intervalStart(begin, interval, timeZone);
  const starts: Date[] = [];
  for (let start = first; start < end; start = intervalStart(start, interval, timeZone, 1))
    starts.push(start);
  const last = starts.at(-1) ?? first;
  const span = { from: first, to: intervalStart(last, interval, timeZone, 1), interval, timeZone } as const;
  const missingMs = Math.max(0, span.to.getTime() - now.getTime());
  const intervalBefore = days <= 31 ? "hour" : "day";
  const lengthMs = span.to.getTime() - span.from.getTime();
  const fromBefore = intervalStart(new Date(first.getTime() - lengthMs), intervalBefore, timeZone);
  const toBefore = intervalStart(new Date(first.getTime() - missingMs), intervalBefore, timeZone);
  return {
    span,
    starts,
    before: {
      from: fromBefore,
      to: toBefore > fromBefore ? toBefore : first,
      interval: intervalBefore,
      timeZone,
    },
    words: rangeText(span),
    labelBefore:
      interval === "month" ? "the months before" : `the ${days === 1 ? "day" : `${days} days`} before`,
    shownZone: timeZone,
  };
}

/** The days or months of a period: "1–12 Nov 2026". */
function rangeText({ from, to, interval, timeZone }: Span): string {
  const format = new Intl.DateTimeFormat(LOCALE, {
    ...(interval === "month" ? {} : { day: "numeric" }),
    month: "short",
    year: "numeric",
    timeZone,
  });
  return format.formatRange(from, new Date(to.getTime() - 1));
}

/** The first and the last day of a period, in its time zone: `2026-01-31`. */
export function daysIn({ span: { from, to, timeZone } }: Period): {
  readonly from: string;
  readonly to: string;
} {
  // The format of Canada is that of ISO 8601.
  const day = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  return { from: day.format(from), to: day.format(new Date(to.getTime() - 1)) };
}

/** The start of an interval of UTC, counted from the interval that contains a given time. */
export function startOf(moment: Date, interval: UsageInterval, after: number): Date {
  return intervalStart(moment, interval, "UTC", after);
}

function sameTimeBefore(now: Date, interval: UsageInterval, timeZone: string, count: number): Date {
  const passedMs = now.getTime() - intervalStart(now, interval, timeZone).getTime();
  return new Date(intervalStart(now, interval, timeZone, -count).getTime() + passedMs);
}
