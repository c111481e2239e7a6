import { z } from "zod";
import type { RpcServices } from "./router.ts";
import { accountReader, router } from "./trpc.ts";

const time = z
  .date()
  .min(new Date(0), "must not be before 1970")
  .max(new Date("9999-01-01"), "must be before 9999");

/** The period and its intervals. */
export const spanInput = { from: time, to: time, interval: z.enum(["hour", "day", "month"]) };

export function usageRouter({ usage }: RpcServices) {
  return router({
    /** Requests, errors, tokens and cost, in intervals of UTC, always equal to the sums of the entries. */
    summary: accountReader
      .input(z.strictObject({ ...spanInput, groupBy: z.enum(["none", "model", "key"]).default("none") }))
      .query(({ ctx, input }) => usage.summary(ctx.accountId, input, ctx.reader)),
  });
}
