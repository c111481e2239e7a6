/** Periods of which sums are kept, longest first. */
const PERIODS = ["month", "day", "hour"] as const;
export type Period = (typeof PERIODS)[number];

/** Whole periods, from one on and before another. */
export interface UsagePart {
  readonly period: Period;
  readonly from: Date;
  readonly to: Date;
}

/**
 * A time, cut into the longest periods that fit: whole months, the days before and after them, the hours before and after
 * those. The sums of a year are then a dozen for each account, whatever day it begins on.
 */
export function partsOf(from: Date, to: Date, periods: readonly Period[] = PERIODS): readonly UsagePart[] {
  const [period, ...shorter] = periods;
  if (period === undefined || from >= to) return [];
  const first = ceiling(from, period);
  const last = floor(to, period);
  if (first >= last) return partsOf(from, to, shorter);
  return [...partsOf(from, first, shorter), { period, from: first, to: last }, ...partsOf(last, to, shorter)];
}

/** The beginning of the period that a time is in, in UTC. */
export function floor(time: Date, period: Period): Date {
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  switch (period) {
    case "month":
      return new Date(Date.UTC(year, month));
    case "day":
      return new Date(Date.UTC(year, month, time.getUTCDate()));
    case "hour":
      return new Date(Date.UTC(year, month, time.getUTCDate(), time.getUTCHours()));
  }
}

function ceiling(time: Date, period: Period): Date {
  const beginning = floor(time, period);
  return beginning.getTime() === time.getTime() ? time : next(beginning, period);
}

function next(beginning: Date, period: Period): Date {
  const [year, month, day] = [beginning.getUTCFullYear(), beginning.getUTCMonth(), beginning.getUTCDate()];
  switch (period) {
    case "month":
      return new Date(Date.UTC(year, month + 1));
    case "day":
      return new Date(Date.UTC(year, month, day + 1));
    case "hour":
      return new Date(Date.UTC(year, month, day, beginning.getUTCHours() + 1));
  }
}
