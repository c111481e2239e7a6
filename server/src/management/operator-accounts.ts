import * as z from "zod";
import type { AccountId } from "../contract/account.ts";
import { entryPage, readEntriesPage } from "./audit.ts";
import { idOf } from "./inputs.ts";
import { keysPage, readKeysPage } from "./keys.ts";
import type { RpcServices } from "./router.ts";
import { operatorProcedure } from "./trpc.ts";
import { groupBy, spanInput, spanOf } from "./usage.ts";

/** The id of the account. */
const id = idOf<AccountId>();

/**
 * What operators may read of an account, in the form and within the bounds in which its users read it. The audit trail does not
 * record these reads: they return neither key strings nor the content of requests.
 */
export function operatorAccountReads({ auditLog, keys, usage }: RpcServices) {
  return {
    /** The keys of an account, in the form of `keys.list`. */
    keys: operatorProcedure
      .input(
        z.strictObject({
          id,
          ...keysPage,
          /** Has no effect. Infinite queries of TanStack Query send it. */
          direction: z.literal("forward").optional(),
        }),
      )
      .query(({ input }) => readKeysPage(keys, input.id, input, "operators")),

    /** The usage of an account, in the form of `usage.summary`. */
    usage: operatorProcedure
      .input(z.strictObject({ id, ...spanInput, groupBy }))
      .query(({ input: { id: accountId, ...question } }) =>
        usage.summary(accountId, spanOf(question), "operators"),
      ),

    /** How fast the requests of an account were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject({ id, ...spanInput }))
      .query(({ input: { id: accountId, ...span } }) =>
        usage.performance(accountId, spanOf(span), "operators"),
      ),

    /** The entries of an account's audit log, newest first, in the form of `audit.list`. */
    entries: operatorProcedure
      .input(z.strictObject({ id, ...entryPage }))
      .query(({ input }) => readEntriesPage(auditLog, input.id, input, "operators")),
  };
}
