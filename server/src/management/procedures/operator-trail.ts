import * as z from "zod";
import { filterInput } from "../../audit/filter.ts";
import { ACTION_NAMES, type ActionId } from "../../contract/action.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure } from "../trpc.ts";
import { actionChainReads, exportInput, verificationInput } from "./action-chain.ts";
import { accountId, paging, singleLine } from "./inputs.ts";

/** What operators read of the audit trail of all accounts. */
export function trailReads({ accountAdmin, reads }: RpcServices) {
  const chained = actionChainReads(accountAdmin.actionChain, reads);
  return {
    /** The audit trail of one account or of all, newest first. Each filter that is given must match. */
    audit: operatorProcedure
      .input(
        z
          .strictObject({
            /** The id of the account. Default: all accounts. */
            accountId: accountId.optional(),
            /** The change. Default: any. */
            action: z.enum(ACTION_NAMES).optional(),
            /** The beginning of the e-mail address of the author: 1 to 254 characters. Default: any. */
            author: singleLine(254).optional(),
            /** The address of the author, or a CIDR block. Default: any. */
            source: filterInput.source,
            /** A part of the reason or the beginning of the account's name: 1 to 200 characters. Default: any. */
            search: singleLine(200).optional(),
            ...paging<ActionId>(),
          })
          .prefault({}),
      )
      .query(({ ctx, input: { cursor = null, limit, ...filter } }) =>
        reads.inOneSlice(ctx.reader, () => accountAdmin.listActions(filter, cursor, limit)),
      ),

    /** The whole audit trail as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    exportActions: operatorProcedure
      .input(z.strictObject(exportInput).prefault({}))
      .query(({ ctx, input }) => chained.lines(ctx.reader, null, input)),

    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    verifyActions: operatorProcedure
      .input(z.strictObject(verificationInput).prefault({}))
      .query(({ ctx, input }) => chained.verify(ctx.reader, null, input)),
  };
}
