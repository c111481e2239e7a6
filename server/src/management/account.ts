import { z } from "zod";
import { ACTIVE_KEY_LIMITS, type AccountId, rulesInForce } from "../contract/account.ts";
import type { Action, ActionId } from "../contract/action.ts";
import { limitsOf } from "../contract/plans.ts";
import { Failure } from "../errors/failure.ts";
import { actionChainReads, exportInput, verificationInput } from "./action-chain.ts";
import { ipAddress, paging } from "./inputs.ts";
import type { RpcServices } from "./router.ts";
import { accountProcedure, accountReader, router } from "./trpc.ts";

export function accountRouter({ accounts, accountAdmin, ipRules, plans, admission, reads }: RpcServices) {
  const chained = actionChainReads(accountAdmin.actionChain, reads);
  const get = async (id: AccountId) => {
    const account = await accounts.findAccount(id);
    if (account === null) throw new Failure("not_found", "The account no longer exists.");
    return account;
  };
  return router({
    get: accountReader.query(async ({ ctx }) => {
      const account = await get(ctx.accountId);
      return {
        ...account,
        /** `null`: audit entries are kept for ever. */
        auditRetentionDays: plans[account.plan].auditRetentionDays,
        keyLimit: ACTIVE_KEY_LIMITS[account.plan],
        /** The limits in force: the account's own, or those of its plan. */
        limitsInForce: limitsOf(plans, account),
        /** Whether the IP rules are in force. An account that left the enterprise plan keeps its rules without effect. */
        ipRulesInForce: rulesInForce(account) !== null,
      };
    }),

    /**
     * The limits in force (`null`: none) and their present use. Without a limit nothing is counted.
     */
    limits: accountReader.query(async ({ ctx }) => {
      const [account, used] = await Promise.all([get(ctx.accountId), admission.useOf(ctx.accountId)]);
      return { limits: limitsOf(plans, account), used };
    }),

    /** Whether a request from an address would pass the account's IP rules. */
    tryAddress: accountReader.input(z.strictObject({ address: ipAddress })).query(async ({ ctx, input }) => ({
      verdict: ipRules.judge(await get(ctx.accountId), input.address),
    })),

    /** The audit trail of the account, newest first. It does not name operators. */
    actions: accountProcedure
      .input(z.strictObject(paging<ActionId>(200)).default({ limit: 50 }))
      .query(async ({ ctx, input }) => {
        const page = await accountAdmin.listActions(ctx.accountId, input.cursor ?? null, input.limit);
        return { actions: page.actions.map(forOwner), nextCursor: page.nextCursor };
      }),

    /** The audit trail of the account as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    exportActions: accountProcedure
      .input(z.strictObject(exportInput).prefault({}))
      .query(({ ctx, input }) => chained.lines(ctx.accountId, ctx.accountId, input)),

    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    verifyActions: accountProcedure
      .input(z.strictObject(verificationInput).prefault({}))
      .query(({ ctx, input }) => chained.verify(ctx.accountId, ctx.accountId, input)),
  });
}

function forOwner(action: Action) {
  const { accountId: _, accountName: __, ...rest } = action;
  return rest.byOperator ? { ...rest, by: null, userEmail: null } : rest;
}
