import { z } from "zod";

const DATE = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 24 * 60 * 60_000;
const END_MS = Date.UTC(9999);

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true }), z.date()], {
  error: "must be a date such as 2026-01-31, or an RFC 3339 time such as 2026-01-31T00:00:00Z",
});

/**
 * The beginning of a period, as a moment. A date without a time is a day of UTC, of which the period includes the whole.
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

function isInRange(time: Date): boolean {
  return time.getTime() >= 0 && time.getTime() <= END_MS;
}
