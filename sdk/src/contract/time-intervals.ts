import { DAY_MS, HOUR_MS } from "./time-units.ts";

/** The intervals of usage. */
export type UsageInterval = "hour" | "day" | "month";

/** The maximum period of usage by interval, in days: a chart has no use for more points. */
export const MAX_USAGE_DAYS: Readonly<Record<UsageInterval, number>> = {
  hour: 31,
  day: 3 * 366,
  month: 20 * 366,
};

const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;

/** Whether a text is the name of a time zone, such as `Europe/Berlin`. Offsets such as `+02:00` are none. */
export function isTimeZone(text: string): boolean {
  if (!NAME.test(text)) return false;
  try {
    return clockOf(text) !== undefined;
  } catch {
    // The runtime says so by an error only.
    return false;
  }
}

/**
 * The start of the interval that contains a time; with `later`, the start of the interval that comes this many intervals later. Usage is counted by hours of
 * UTC: a day or a month begins with the first whole hour of UTC in it, and an hour belongs to the day in which it begins.
 */
export function intervalStart(moment: Date, interval: UsageInterval, timeZone: string, later = 0): Date {
  const hourMs = Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS;
  if (interval === "hour") return new Date(hourMs + later * HOUR_MS);
  const local = new Date(hourMs + offsetMs(hourMs, timeZone));
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const startAfter = (more: number) =>
    midnight(
      interval === "month" ? Date.UTC(year, month + more) : Date.UTC(year, month, day + more),
      timeZone,
    );
  // The hour may show a day that has not begun, because clocks are put back past its midnight.
  return startAfter(startAfter(0).getTime() > hourMs ? later - 1 : later);
}

/** The start of a day, such as `2026-01-31`, or of the day that comes `later` days after it. */
export function dayStart(day: string, timeZone: string, later = 0): Date {
  return midnight(Date.parse(day) + later * DAY_MS, timeZone);
}

/**
 * The first whole hour of a day, whose midnight is given as if it were of UTC. The hours from there on are not of an earlier day: where clocks are
 * put back past midnight, they show the day before once more, and the day begins with its second midnight.
 */
function midnight(localMs: number, timeZone: string): Date {
  const [firstMs, lastMs] = instantsOf(localMs, timeZone);
  const [first, second] = [wholeHour(firstMs), wholeHour(lastMs)];
  const isEarlier = (ms: number) => ms < second && ms + offsetMs(ms, timeZone) < localMs;
  return new Date(isEarlier(first) || isEarlier(first + HOUR_MS) ? second : first);
}

function wholeHour(ms: number): number {
  return Math.ceil(ms / HOUR_MS) * HOUR_MS;
}

/**
 * The first and the last time at which clocks show a local one: it is shown twice when clocks are put back. Where clocks skip it, both are the time
 * of the change.
 */
function instantsOf(localMs: number, timeZone: string): readonly [first: number, last: number] {
  const before = localMs - offsetMs(localMs - DAY_MS, timeZone);
  const after = localMs - offsetMs(localMs + DAY_MS, timeZone);
  if (before === after) return [before, before];
  const shown = [before, after].filter((ms) => ms + offsetMs(ms, timeZone) === localMs);
  return shown.length === 0 ? [before, before] : [Math.min(...shown), Math.max(...shown)];
}

/** Differences between clocks and UTC: formatting a time takes tens of microseconds, and the same days are asked for again and again. */
const offsets = new Map<string, number>();
const MAX_OFFSETS = 20_000;

/** The difference between the clocks of a time zone and UTC. */
function offsetMs(timeMs: number, timeZone: string): number {
  if (timeZone === "UTC") return 0;
  const key = `${timeZone} ${timeMs}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const offset = formattedOffsetMs(timeMs, timeZone);
  if (offsets.size >= MAX_OFFSETS) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

/** What a clock of {@link clockOf} shows. To read it takes a third of the time of `formatToParts`. */
const SHOWN = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

function formattedOffsetMs(timeMs: number, timeZone: string): number {
  const clock = clockOf(timeZone);
  const shown = SHOWN.exec(clock.format(timeMs));
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] =
    shown === null ? partsOf(clock, timeMs) : shown.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(timeMs / 1_000) * 1_000;
}

/** The same numbers from a runtime that writes times in another way. */
function partsOf(clock: Intl.DateTimeFormat, timeMs: number): readonly number[] {
  const parts = new Map(clock.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]));
  return (["month", "day", "year", "hour", "minute", "second"] as const).map((type) => parts.get(type) ?? 0);
}

const clocks = new Map<string, Intl.DateTimeFormat>();
/** There are about 600 names, in any case. */
const MAX_CLOCKS = 1_000;

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const clock = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (clocks.size >= MAX_CLOCKS) clocks.clear();
  clocks.set(timeZone, clock);
  return clock;
}
