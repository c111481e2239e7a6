import { z } from "zod";
import type { IpRuleBook } from "../access/ip-rules.ts";
import { ACTIVE_KEY_LIMITS, type Account, type AccountId, rulesInForce } from "../accounts/account.ts";
import type { AccountAdmin } from "../accounts/account-admin.ts";
import type { ActionId } from "../accounts/action.ts";
import { Failure } from "../errors/failure.ts";
import { ipAddress } from "./inputs.ts";
import { accountProcedure, accountReader, router } from "./trpc.ts";

export interface AccountServices {
  readonly accounts: { findAccount(id: AccountId): Promise<Account | null> };
  readonly accountAdmin: AccountAdmin;
  readonly ipRules: IpRuleBook;
}

export function accountRouter({ accounts, accountAdmin, ipRules }: AccountServices) {
  const get = async (id: AccountId) => {
    const account = await accounts.findAccount(id);
    if (account === null) throw new Failure("not_found", "The account does not exist any more.");
    return account;
  };
  return router({
    get: accountReader.query(async ({ ctx }) => {
      const account = await get(ctx.accountId);
      return {
        ...account,
        keyLimit: ACTIVE_KEY_LIMITS[account.plan],
        /** Whether the IP rules bear on requests: an account that left the enterprise plan keeps them unenforced. */
        ipRulesInForce: rulesInForce(account) !== null,
      };
    }),

    /** Whether a request from an address would pass the account's IP rules. */
    tryAddress: accountReader.input(z.strictObject({ address: ipAddress })).query(async ({ ctx, input }) => ({
      verdict: ipRules.judge(await get(ctx.accountId), input.address),
    })),

    /** What was changed in the account, by whom, newest first. */
    actions: accountProcedure
      .input(
        z
          .strictObject({
            cursor: z.uuid().optional(),
            direction: z.literal("forward").optional(),
            limit: z.number().int().min(1).max(200).default(50),
          })
          .default({ limit: 50 }),
      )
      .query(({ ctx, input }) =>
        accountAdmin.listActions(ctx.accountId, (input.cursor ?? null) as ActionId | null, input.limit),
      ),
  });
}
