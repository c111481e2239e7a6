import { ACTIVE_KEY_LIMITS, type Account, type AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import { accountReader, router } from "./trpc.ts";

export interface AccountServices {
  readonly accounts: { findAccount(id: AccountId): Promise<Account | null> };
}

export function accountRouter({ accounts }: AccountServices) {
  return router({
    get: accountReader.query(async ({ ctx }) => {
      const account = await accounts.findAccount(ctx.accountId);
      if (account === null) throw new Failure("not_found", "The account does not exist any more.");
      return { ...account, keyLimit: ACTIVE_KEY_LIMITS[account.plan] };
    }),
  });
}
