import * as z from "zod";
import { ACCOUNT_ORDERS } from "../../accounts/account-list.ts";
import { ACCOUNT_STATES, PLANS } from "../../contract/account.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { entryPage, readEntriesPage } from "./audit.ts";
import { accountNameInput, emailInput } from "./auth.ts";
import { accountId, CURSOR, direction, paging, searchText } from "./inputs.ts";
import { keysPage, readKeysPage } from "./keys.ts";
import { accountChanges } from "./operator-account-changes.ts";
import { groupBy, spanInput, spanOf } from "./usage.ts";

/** The beginning of a name or of a user's e-mail address, an id, or the last four characters of a key: up to 254 characters. Default: all accounts. */
const accountSearch = searchText(254).default("");
/**
 * What operators may read of an account, in the form and within the bounds in which its users read it. The audit trail does not
 * record these reads: they return neither key strings nor the content of requests.
 */
function accountReads({ auditLog, keys, usage }: RpcServices) {
  return {
    /** The keys of an account, in the form of `keys.list`. */
    keys: operatorProcedure
      .input(z.strictObject({ id: accountId, ...keysPage, direction }))
      .query(({ ctx, input }) => readKeysPage(keys, input.id, input, ctx.reader)),

    /** The usage of an account, in the form of `usage.summary`. */
    usage: operatorProcedure
      .input(z.strictObject({ id: accountId, ...spanInput, groupBy }))
      .query(({ ctx, input: { id, ...question } }) => usage.summary(id, spanOf(question), ctx.reader)),

    /** How fast the requests of an account were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject({ id: accountId, ...spanInput }))
      .query(({ ctx, input: { id, ...span } }) => usage.performance(id, spanOf(span), ctx.reader)),

    /** The entries of an account's audit log, newest first, in the form of `audit.list`. */
    entries: operatorProcedure
      .input(z.strictObject({ id: accountId, ...entryPage }))
      .query(({ ctx, input }) => readEntriesPage(auditLog, input.id, input, ctx.reader)),
  };
}

/** Procedures for the accounts of the service. */
export function operatorAccountsRouter(services: RpcServices) {
  const { accountAdmin, reads } = services;
  return router({
    /** Accounts, newest first or in another order. */
    list: operatorProcedure
      .input(
        z
          .strictObject({
            search: accountSearch,
            /** The state of the accounts. Default: any. */
            state: z.enum(ACCOUNT_STATES).optional(),
            /** The plan of the accounts. Default: any. */
            plan: z.enum(PLANS).optional(),
            /**
             * What the accounts are sorted by: `created`, their `balance`, or their `cost` or `requests` of the last 30 days. A balance or usage
             * that changes while you read pages may leave its account out or repeat it. Default `created`.
             */
            order: z.enum(ACCOUNT_ORDERS).default("created"),
            /** Whether the oldest or the lowest are first. Default `false`: the newest or the highest are. */
            ascending: z.boolean().default(false),
            ...paging(),
            /** The `nextCursor` of the previous page, which had the same filters and order. Omit it for the first page. */
            cursor: z.string().max(64).describe(CURSOR).optional(),
          })
          .prefault({}),
      )
      .query(({ ctx, input: { state = null, plan = null, cursor = null, ...listing } }) =>
        reads.inOneSlice(ctx.reader, () => accountAdmin.list({ ...listing, state, plan, cursor })),
      ),

    /** One account. */
    get: operatorProcedure
      .input(z.strictObject({ id: accountId }))
      .query(({ ctx, input }) => reads.inOneSlice(ctx.reader, () => accountAdmin.get(input.id))),

    ...accountReads(services),

    /** Creates an account with its first user, also while sign-up is closed. The answer contains the first user's password; it cannot be read again. */
    create: operatorProcedure
      .input(
        z.strictObject({
          /** The e-mail address of the first user: up to 254 characters. */
          email: emailInput,
          accountName: accountNameInput,
          /** The plan. Default `free`. */
          plan: z.enum(PLANS).default("free"),
        }),
      )
      .mutation(({ ctx, input }) => accountAdmin.create(ctx.actor, input)),

    ...accountChanges(services),
  });
}
