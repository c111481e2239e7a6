import { LOCALE } from "../format.ts";

export type ChartInterval = "hour" | "day" | "month";

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

export interface TimeTick {
  readonly index: number;
  readonly text: string;
}

/** The steps between ticks, in intervals, from which a natural one is chosen. */
const STEPS: Readonly<Record<ChartInterval, readonly number[]>> = {
  hour: [1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168],
  day: [1, 2, 3, 5, 7, 10, 14, 28, 56, 91, 182],
  month: [1, 2, 3, 4, 6, 12, 24, 60],
};
/** The minimum gap between two labels. */
const GAP_PX = 12;

/** The time labels below the plot, as many as fit. */
export function timeTicks(
  times: readonly Date[],
  of: { readonly interval: ChartInterval; readonly timeZone: string | undefined },
  room: { readonly columnPx: number; readonly widthOf: (text: string) => number },
): readonly TimeTick[] {
  const { interval } = of;
  const shown = formatsIn(of.timeZone);
  for (const step of STEPS[interval]) {
    const ticks = times.flatMap((time, index) =>
      isTick(time, index, interval, step, shown)
        ? [{ index, text: tickText(time, interval, step, shown) }]
        : [],
    );
    const widest = Math.max(0, ...ticks.map(({ text }) => room.widthOf(text)));
    if (widest + GAP_PX > step * room.columnPx) continue;
    const left = (index: number) => (index + 0.5) * room.columnPx;
    const right = (index: number) => (times.length - index - 0.5) * room.columnPx;
    const within = ticks.filter(
      ({ index, text }) => Math.min(left(index), right(index)) >= room.widthOf(text) / 2,
    );
    return apart(within, (widest + GAP_PX) / room.columnPx);
  }
  return [];
}

/** The ticks that stand far enough from the one before. A change of the clock shows an hour twice, or leaves one out. */
function apart(ticks: readonly TimeTick[], minIntervals: number): readonly TimeTick[] {
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
      return index % step === Math.floor(step / 2);
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
