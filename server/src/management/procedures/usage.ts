import * as z from "zod";
import { isTimeZone } from "../../../../sdk/src/contract/time-intervals.ts";
import { type PeriodBound, periodIn, zonedPeriodEnd, zonedPeriodStart } from "../../audit/time-bounds.ts";
import type { KeyUuid } from "../../contract/key.ts";
import type { RpcServices } from "../rpc-services.ts";
import { accountReadProcedure, router } from "../trpc.ts";
import { idOf } from "./inputs.ts";

/** The period and its intervals. */
export const spanInput = {
  from: zonedPeriodStart,
  to: zonedPeriodEnd,
  interval: z
    .enum(["hour", "day", "month"])
    .describe(
      "The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month.",
    ),
  timeZone: z
    .string()
    .refine(isTimeZone, "must be the name of a time zone, such as Europe/Berlin")
    .describe(
      "The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`.",
    )
    .default("UTC"),
};

export const groupBy = z
  .enum(["none", "model", "key"])
  .describe("What has rows of its own in each interval. Default `none`.")
  .default("none");

/** The input with its period as times. */
export function spanOf<Input extends { from: PeriodBound; to: PeriodBound; timeZone: string }>(input: Input) {
  return { ...input, ...periodIn(input.timeZone, input) };
}

/** The requests that are counted. */
const usageFilter = {
  key: idOf<KeyUuid>().describe("The id of a key, a UUID. Default: all keys.").optional(),
  model: z
    .string()
    .max(256)
    .regex(/^[^\0]*$/, "must not contain null characters")
    .regex(/^[^*]*$/, "must be the id of one model. Only the audit log takes patterns")
    .describe("A model, as rows name it: up to 256 characters. Default: all models.")
    .optional(),
};

export function usageRouter({ usage }: RpcServices) {
  return router({
    /**
     * Requests, errors, tokens and cost, in intervals of a time zone, always equal to the sums of the entries. Intervals that the
     * period covers in part are included as a whole. Where midnight is within an hour of UTC, a day begins with the next hour.
     */
    summary: accountReadProcedure
      .input(
        z.strictObject({
          ...spanInput,
          ...usageFilter,
          groupBy,
        }),
      )
      .query(({ ctx, input }) => usage.summary(ctx.accountId, spanOf(input), ctx.reader)),

    /**
     * How fast the requests of a period were answered, by interval and by upstream: median and 95th percentile of the newest
     * 20,000 entries.
     */
    performance: accountReadProcedure
      .input(z.strictObject({ ...spanInput, ...usageFilter }))
      .query(({ ctx, input }) => usage.performance(ctx.accountId, spanOf(input), ctx.reader)),
  });
}
