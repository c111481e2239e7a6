import * as z from "zod";
import { ACTIVE_KEY_LIMITS, type AccountId, rulesInForce } from "../../contract/account.ts";
import type { Action, ActionId } from "../../contract/action.ts";
import { limitsOf } from "../../contract/plans.ts";
import { noSuchAccount } from "../caller.ts";
import type { RpcServices } from "../rpc-services.ts";
import { accountProcedure, accountReadProcedure, router } from "../trpc.ts";
import { actionChainReads, exportInput, verificationInput } from "./action-chain.ts";
import { ipAddress, paging } from "./inputs.ts";

export function accountRouter(services: RpcServices) {
  const { accountAdmin, ipRules, plans, responsesTtlDays, admission, reads } = services;
  const chained = actionChainReads(accountAdmin.actionChain, reads);
  const get = async (id: AccountId) => {
    const account = await accountAdmin.findAccount(id);
    if (account === null) throw noSuchAccount();
    return account;
  };
  return router({
    /** The account, with the limits and rules that are in force. */
    get: accountReadProcedure.query(async ({ ctx }) => {
      const account = await get(ctx.accountId);
      return {
        ...account,
        /** The days for which audit entries are kept; `null`: forever. */
        auditRetentionDays: plans[account.plan].auditRetentionDays,
        /** The days for which responses are stored with their prompts; 0: none is stored. */
        responsesTtlDays,
        /** The maximum of active keys; `null`: no maximum. */
        keyLimit: ACTIVE_KEY_LIMITS[account.plan],
        /** The limits in force: the account's own, or those of its plan. `null`: no limit. */
        limitsInForce: limitsOf(plans, account),
        /** Whether the IP rules are in force. An account that left the enterprise plan keeps its rules without effect. */
        ipRulesInForce: rulesInForce(account) !== null,
      };
    }),

    /** What the account has done so far of the first steps. The latest 1,000 requests are looked at. */
    firstSteps: accountReadProcedure.query(({ ctx }) => {
      const upstreams = [...services.catalog.upstreams.values()];
      const simulated = upstreams.filter(({ isSandbox }) => isSandbox).map(({ name }) => name);
      return services.firstSteps.read(ctx.accountId, simulated, ctx.reader);
    }),

    /** The limits in force and their present use on all nodes. */
    limits: accountReadProcedure.query(async ({ ctx }) => {
      const [account, used] = await Promise.all([get(ctx.accountId), admission.useOf(ctx.accountId)]);
      return {
        /** The limits in force. `null`: no limit. */
        limits: limitsOf(plans, account),
        /** The present use of the limits. */
        used,
      };
    }),

    /** Whether a request from an address would pass the account's IP rules. */
    tryAddress: accountReadProcedure
      .input(
        z.strictObject({
          /** The address to test. */
          address: ipAddress,
        }),
      )
      .query(async ({ ctx, input }) => ({
        /** `passes`; `blocked`: it would be refused; `reported`: it would pass and be marked, as the rules are in report mode. */
        verdict: ipRules.judge(await get(ctx.accountId), input.address),
      })),

    /** The audit trail of the account, newest first. It does not name operators. */
    actions: accountProcedure
      .input(z.strictObject(paging<ActionId>()).prefault({}))
      .query(async ({ ctx, input }) => {
        const page = await accountAdmin.listActions(
          { accountId: ctx.accountId },
          input.cursor ?? null,
          input.limit,
        );
        return {
          /** The changes of the page, newest first. */
          actions: page.actions.map(forOwner),
          /** The `cursor` of the next page; `null` on the last page. */
          nextCursor: page.nextCursor,
        };
      }),

    /** The audit trail of the account as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    exportActions: accountProcedure
      .input(z.strictObject(exportInput).prefault({}))
      .query(({ ctx, input }) => chained.lines(ctx.reader, ctx.accountId, input)),

    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    verifyActions: accountProcedure
      .input(z.strictObject(verificationInput).prefault({}))
      .query(({ ctx, input }) => chained.verify(ctx.reader, ctx.accountId, input)),
  });
}

function forOwner(action: Action) {
  const { accountId: _, accountName: __, ...rest } = action;
  return rest.byOperator ? { ...rest, by: null, userEmail: null } : rest;
}
