import { LOCALE } from "../format.ts";

type ChartInterval = "hour" | "day" | "month";

/** The formats of times in a zone; `undefined`: hours in the reader's, days and months in UTC. */
interface Formats {
  readonly clock: Intl.DateTimeFormat;
  readonly hourAndDay: Intl.DateTimeFormat;
  readonly dayOfHours: Intl.DateTimeFormat;
  readonly day: Intl.DateTimeFormat;
  readonly wholeDay: Intl.DateTimeFormat;
  readonly month: Intl.DateTimeFormat;
  readonly wholeMonth: Intl.DateTimeFormat;
  /** Year, month and hour as numbers. */
  readonly ofHours: Intl.DateTimeFormat;
  readonly ofMonths: Intl.DateTimeFormat;
}

const formats = new Map<string | undefined, Formats>();

function formatsIn(timeZone: string | undefined): Formats {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = (parts: Intl.DateTimeFormatOptions, zone = timeZone) =>
    new Intl.DateTimeFormat(LOCALE, { ...parts, ...(zone === undefined ? {} : { timeZone: zone }) });
  // In the reader's zone, a day of UTC could have the name of its neighbour.
  const ofDays = timeZone ?? "UTC";
  const clock = { hour: "2-digit", minute: "2-digit" } as const;
  const day = { day: "numeric", month: "short" } as const;
  const made: Formats = {
    clock: format(clock),
    hourAndDay: format({ weekday: "short", ...day, ...clock, timeZoneName: "short" }),
    dayOfHours: format(day),
    day: format(day, ofDays),
    wholeDay: format({ weekday: "short", day: "numeric", month: "long", year: "numeric" }, ofDays),
    month: format({ month: "short" }, ofDays),
    wholeMonth: format({ month: "long", year: "numeric" }, ofDays),
    ofHours: format({ hour: "numeric", hourCycle: "h23" }),
    ofMonths: format({ year: "numeric", month: "numeric" }, ofDays),
  };
  formats.set(timeZone, made);
  return made;
}

function numberOf(format: Intl.DateTimeFormat, time: Date, type: Intl.DateTimeFormatPartTypes): number {
  return Number(format.formatToParts(time).find((part) => part.type === type)?.value ?? 0);
}

const HOUR_MS = 60 * 60_000;

/** An interval in full: "Tue, 3 March 2026". Without a zone, hours are in the reader's, days and months in UTC. */
export function intervalLabel(start: Date, interval: ChartInterval, timeZone?: string): string {
  const { hourAndDay, wholeDay, wholeMonth } = formatsIn(timeZone);
  switch (interval) {
    case "hour":
      return hourAndDay.formatRange(start, new Date(start.getTime() + HOUR_MS));
    case "day":
      return wholeDay.format(start);
    case "month":
      return wholeMonth.format(start);
  }
}

interface TimeTick {
  readonly index: number;
  readonly text: string;
  /** The middle of the label, from the plot's left edge. */
  readonly leftPx: number;
}

type Label = Omit<TimeTick, "leftPx">;

/** The steps between ticks, in intervals, from which a natural one is chosen. */
const STEPS: Readonly<Record<ChartInterval, readonly number[]>> = {
  hour: [1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168],
  day: [1, 2, 3, 5, 7, 10, 14, 28, 56, 91, 182],
  month: [1, 2, 3, 4, 6, 12, 24, 60],
};
/** The minimum gap between two labels. */
const GAP_PX = 12;
/** How far the first and the last label may stand out beyond the plot. */
const BEYOND_PX = 12;

interface Room {
  readonly columnPx: number;
  /** The width of a column by which labels are chosen: the same in charts side by side, whose plots differ a little. Default: that of this chart. */
  readonly sharedColumnPx?: number;
  readonly widthOf: (text: string) => number;
}

/** The time labels below the plot, as many as fit. */
export function timeTicks(
  times: readonly Date[],
  of: { readonly interval: ChartInterval; readonly timeZone: string | undefined },
  { columnPx, sharedColumnPx = columnPx, widthOf }: Room,
): readonly TimeTick[] {
  const { interval } = of;
  const shown = formatsIn(of.timeZone);
  const endPx = times.length * columnPx;
  for (const step of STEPS[interval]) {
    const labels = times.flatMap((time, index) =>
      isTick(time, index, times.length, interval, step, shown)
        ? [{ index, text: tickText(time, interval, step, shown) }]
        : [],
    );
    const widest = Math.max(0, ...labels.map(({ text }) => widthOf(text)));
    if (widest + GAP_PX > step * sharedColumnPx) continue;
    const minIntervals = (widest + GAP_PX) / sharedColumnPx;
    const chosen =
      interval === "day"
        ? withFirst(labels, minIntervals, shown.day, times)
        : apart(
            labels.filter(({ index, text }) => {
              const intervals = Math.min(index, times.length - index - 1) + 0.5;
              return intervals * sharedColumnPx >= widthOf(text) / 2;
            }),
            minIntervals,
          );
    return chosen.map(({ index, text }) => {
      const half = widthOf(text) / 2 - BEYOND_PX;
      const middle = (index + 0.5) * columnPx;
      return { index, text, leftPx: Math.max(half, Math.min(endPx - half, middle)) };
    });
  }
  return [];
}

/** The labels of days, counted back from the last one, and that of the first day in the place of one that is too close to it. */
function withFirst(
  labels: readonly Label[],
  minIntervals: number,
  format: Intl.DateTimeFormat,
  [first]: readonly Date[],
): readonly Label[] {
  const last = labels.at(-1);
  if (first === undefined || last === undefined || last.index < minIntervals) return labels.slice(-1);
  return [{ index: 0, text: format.format(first) }, ...labels.filter(({ index }) => index >= minIntervals)];
}

/** The ticks that stand far enough from the one before. A change of the clock shows an hour twice, or leaves one out. */
function apart(ticks: readonly Label[], minIntervals: number): readonly Label[] {
  let last = Number.NEGATIVE_INFINITY;
  return ticks.filter(({ index }) => {
    if (index - last < minIntervals) return false;
    last = index;
    return true;
  });
}

function isTick(
  time: Date,
  index: number,
  intervals: number,
  interval: ChartInterval,
  step: number,
  { ofHours, ofMonths }: Formats,
): boolean {
  switch (interval) {
    case "hour": {
      const hour = numberOf(ofHours, time, "hour");
      return step < 24 ? hour % step === 0 : hour === 0 && index % step < 24;
    }
    case "day":
      return (intervals - 1 - index) % step === 0;
    case "month":
      return (numberOf(ofMonths, time, "year") * 12 + numberOf(ofMonths, time, "month") - 1) % step === 0;
  }
}

function tickText(time: Date, interval: ChartInterval, step: number, shown: Formats): string {
  switch (interval) {
    case "hour":
      return (step < 24 ? shown.clock : shown.dayOfHours).format(time);
    case "day":
      return shown.day.format(time);
    case "month": {
      // January shows the new year.
      const isNewYear = numberOf(shown.ofMonths, time, "month") === 1;
      return step < 12 && !isNewYear
        ? shown.month.format(time)
        : String(numberOf(shown.ofMonths, time, "year"));
    }
  }
}
