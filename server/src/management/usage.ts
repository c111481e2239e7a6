import { z } from "zod";
import { periodEnd, periodStart } from "../audit/time-bounds.ts";
import type { KeyUuid } from "../contract/key.ts";
import { idOf } from "./inputs.ts";
import type { RpcServices } from "./router.ts";
import { accountReader, router } from "./trpc.ts";

/** The period and its intervals. */
export const spanInput = {
  from: periodStart,
  to: periodEnd,
  interval: z
    .enum(["hour", "day", "month"])
    .describe(
      "The length of the intervals, in UTC. A summary covers up to 31 days by hour, 3 years by day and 20 years by month.",
    ),
};

/** The requests that are counted. */
const filterInput = {
  /** The id of a key, a UUID. Default: all keys. */
  key: idOf<KeyUuid>().optional(),
  /** A model, as rows name it: up to 256 characters. Default: all models. */
  model: z
    .string()
    .max(256)
    .regex(/^[^\0]*$/, "must not contain null characters")
    .optional(),
};

export function usageRouter({ usage }: RpcServices) {
  return router({
    /**
     * Requests, errors, tokens and cost, in intervals of UTC, always equal to the sums of the entries. Intervals that the period
     * covers in part are included as a whole.
     */
    summary: accountReader
      .input(
        z.strictObject({
          ...spanInput,
          ...filterInput,
          groupBy: z
            .enum(["none", "model", "key"])
            .describe("What has rows of its own in each interval. Default `none`.")
            .default("none"),
        }),
      )
      .query(({ ctx, input }) => usage.summary(ctx.accountId, input, ctx.reader)),

    /**
     * How fast the requests of a period were answered, by interval of UTC and by upstream: median and 95th percentile of the newest
     * 20,000 entries.
     */
    performance: accountReader
      .input(z.strictObject({ ...spanInput, ...filterInput }))
      .query(({ ctx, input }) => usage.performance(ctx.accountId, input, ctx.reader)),
  });
}
