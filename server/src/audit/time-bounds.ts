import * as z from "zod";
import { dayStart } from "../../../sdk/src/contract/time-intervals.ts";
import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";

const DATE = /^\d{4}-\d\d-\d\d$/;
const END_MS = Date.UTC(9999);

/** The end of a time whose plus sign stood in a URL as it is, where it means a space. */
const LOST_PLUS = /:\d\d(?:\.\d+)? \d\d:\d\d$/;

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true }), z.date()], {
  error: ({ input }) =>
    typeof input === "string" && LOST_PLUS.test(input)
      ? "must have the plus sign of its offset, which is written %2B in a URL"
      : "must be a date such as 2026-01-31, or an RFC 3339 time such as 2026-01-31T00:00:00Z",
});

/**
 * The beginning of a period, as a moment. A date without a time is a day in UTC, and the period includes the whole day.
 * JSON has times as text; procedures also take a `Date`.
 */
export const periodStart = moment
  .transform((value) => new Date(value))
  .refine(isInRange, "must be from 1970 to 9998")
  .describe(
    "The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC.",
  );

/** The end of a period, as the first moment after it. A date without a time includes the whole day. */
export const periodEnd = moment
  .transform((value) =>
    typeof value === "string" && DATE.test(value) ? new Date(Date.parse(value) + DAY_MS) : new Date(value),
  )
  .refine(isInRange, "must be from 1970 to 9998")
  .describe(
    "The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included.",
  );

/** A bound of a period: a time, or a day of the time zone that the period is in. */
export type PeriodBound = Date | { readonly day: string };

const bound = moment
  .transform(
    (value): PeriodBound =>
      typeof value === "string" && DATE.test(value) ? { day: value } : new Date(value),
  )
  .refine(
    (value) => isInRange(value instanceof Date ? value : new Date(value.day)),
    "must be from 1970 to 9998",
  );

/** The beginning of a period in a time zone, as {@link periodStart} is that of one in UTC. */
export const zonedPeriodStart = bound.describe(
  "The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone.",
);

/** The end of a period in a time zone, as {@link periodEnd} is that of one in UTC. */
export const zonedPeriodEnd = bound.describe(
  "The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included.",
);

/** The period as times. */
export function periodIn(
  timeZone: string,
  { from, to }: { readonly from: PeriodBound; readonly to: PeriodBound },
): { readonly from: Date; readonly to: Date } {
  return {
    from: from instanceof Date ? from : dayStart(from.day, timeZone),
    to: to instanceof Date ? to : dayStart(to.day, timeZone, 1),
  };
}

function isInRange(time: Date): boolean {
  return time.getTime() >= 0 && time.getTime() <= END_MS;
}
