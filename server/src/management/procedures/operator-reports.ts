import * as z from "zod";
import { SECURITY_EVENT_KINDS } from "../../../../sdk/src/contract/security-event-kinds.ts";
import { filterInput } from "../../audit/filter.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure } from "../trpc.ts";
import { accountId, paging } from "./inputs.ts";
import { spanInput, spanOf } from "./usage.ts";

/** What operators read of the requests of all accounts, and of refused ones. */
export function serviceReports({ usage: reports, securityLog, reads }: RpcServices) {
  return {
    /**
     * Usage of all accounts, in the form of `usage.summary`. The 50 accounts, or 200 models, with the highest cost in the
     * period have rows of their own. All others share one row per interval (`isOther`).
     */
    usage: operatorProcedure
      .input(
        z.strictObject({
          ...spanInput,
          /** What has rows of its own in each interval. Default `none`. */
          groupBy: z.enum(["none", "model", "account"]).default("none"),
        }),
      )
      .query(({ ctx, input }) => reports.serviceSummary(spanOf(input), ctx.reader)),

    /** How fast the requests of all accounts were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ ctx, input }) => reports.performance(null, spanOf(input), ctx.reader)),

    /**
     * How each upstream answered the requests of all accounts, by interval: latency, time to first token, and errors by code. Measures the
     * newest 20,000 entries of the period.
     */
    upstreamHistory: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ ctx, input }) => reports.upstreamHistory(spanOf(input), ctx.reader)),

    /**
     * Security events, last seen first. Events of one hour that agree in every field are one row with a count. Events that
     * other nodes have seen in the last seconds may be missing. An event that recurs while pages are read moves to the front.
     */
    security: operatorProcedure
      .input(
        z
          .strictObject({
            /** The kind of the events. Default: any. */
            kind: z.enum(SECURITY_EVENT_KINDS).optional(),
            /** The id of the account. Default: events of all accounts and of none. */
            accountId: accountId.optional(),
            source: filterInput.source,
            ...paging(),
            /** The `nextCursor` of the previous page. Omit it for the first page. */
            cursor: z.string().max(64).optional(),
          })
          .prefault({}),
      )
      .query(
        ({ ctx, input: { kind = null, accountId: account = null, source = null, cursor = null, limit } }) =>
          reads.inOneSlice(ctx.reader, () =>
            securityLog.list({ kind, accountId: account, source }, cursor, limit),
          ),
      ),
  };
}
