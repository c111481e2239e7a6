import { LOCALE } from "../format.ts";

export type ChartInterval = "hour" | "day" | "month";

// Days and months are in UTC: in the reader's zone, a day could have the name of its neighbour.
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const hourAndDay = new Intl.DateTimeFormat(LOCALE, {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "short",
});
const localDay = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const day = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", timeZone: "UTC" });
const wholeDay = new Intl.DateTimeFormat(LOCALE, {
  weekday: "short",
  day: "numeric",
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});
const month = new Intl.DateTimeFormat(LOCALE, { month: "short", timeZone: "UTC" });
const wholeMonth = new Intl.DateTimeFormat(LOCALE, { month: "long", year: "numeric", timeZone: "UTC" });

const HOUR_MS = 60 * 60_000;

/** An interval in full: "Tue, 3 March 2026". Hours are in the reader's zone, days and months in UTC. */
export function intervalLabel(start: Date, interval: ChartInterval): string {
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
  interval: ChartInterval,
  room: { readonly columnPx: number; readonly widthOf: (text: string) => number },
): readonly TimeTick[] {
  for (const step of STEPS[interval]) {
    const ticks = times.flatMap((time, index) =>
      isTick(time, index, interval, step) ? [{ index, text: tickText(time, interval, step) }] : [],
    );
    const widest = Math.max(0, ...ticks.map(({ text }) => room.widthOf(text)));
    if (widest + GAP_PX > step * room.columnPx) continue;
    const left = (index: number) => (index + 0.5) * room.columnPx;
    const right = (index: number) => (times.length - index - 0.5) * room.columnPx;
    return ticks.filter(({ index, text }) => Math.min(left(index), right(index)) >= room.widthOf(text) / 2);
  }
  return [];
}

function isTick(time: Date, index: number, interval: ChartInterval, step: number): boolean {
  switch (interval) {
    case "hour":
      return step < 24 ? time.getHours() % step === 0 : time.getHours() === 0 && index % step < 24;
    case "day":
      return index % step === Math.floor(step / 2);
    case "month":
      return (time.getUTCFullYear() * 12 + time.getUTCMonth()) % step === 0;
  }
}

function tickText(time: Date, interval: ChartInterval, step: number): string {
  switch (interval) {
    case "hour":
      return step < 24 ? clock.format(time) : localDay.format(time);
    case "day":
      return day.format(time);
    case "month":
      // January shows the new year.
      return step < 12 && time.getUTCMonth() > 0 ? month.format(time) : String(time.getUTCFullYear());
  }
}
