import * as z from "zod";
import { filterInput, filterOf } from "../../audit/filter.ts";
import type { AccountId } from "../../contract/account.ts";
import type { ListedEntry } from "../../contract/entry.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { entryPage, publicView, requestId } from "./audit.ts";
import { idOf } from "./inputs.ts";

/** The id of an account. Default: all accounts. */
const accountId = idOf<AccountId>().optional();

/**
 * The requests of all accounts, within the bounds in which users read those of their own account. The audit trail does not record these
 * reads: they return neither key strings nor the content of requests.
 */
export function operatorLogRouter({ auditLog, auditSummary }: RpcServices) {
  return router({
    /**
     * Entries of all accounts, newest first, in the form of `audit.list` with their accounts. If few of many entries match, a page may
     * have fewer entries than `limit`, or none. Requests that end while pages are read may be missing in later pages.
     */
    list: operatorProcedure
      .input(z.strictObject({ ...entryPage, accountId }).prefault({}))
      .query(async ({ ctx: { reader }, input }) => {
        const { accountId: account = null, cursor = null, limit } = input;
        const page = await auditLog.list(account, {
          filter: filterOf(input),
          cursor,
          limit,
          reader,
        });
        const names = await auditLog.accountNames(page.entries.map((entry) => entry.accountId));
        return {
          /** The entries of the page, newest first. */
          entries: page.entries.map((entry) => withAccount(entry, names)),
          /** The `cursor` of the next page; `null` on the last page. */
          nextCursor: page.nextCursor,
        };
      }),

    /** The entry of one request, of any account. */
    get: operatorProcedure.input(z.strictObject({ requestId })).query(async ({ input }) => {
      const entry = await auditLog.get(null, input.requestId);
      return withAccount(entry, await auditLog.accountNames([entry.accountId]));
    }),

    /** Sums of the entries of all accounts that match, in the form of `audit.summary`. */
    summary: operatorProcedure
      .input(z.strictObject({ ...filterInput, accountId }).prefault({}))
      .query(({ ctx, input }) =>
        auditSummary.summarize(input.accountId ?? null, filterOf(input), ctx.reader),
      ),
  });
}

/** An entry as users read it, with its account. */
function withAccount(entry: ListedEntry, names: ReadonlyMap<AccountId, string>) {
  return {
    ...publicView(entry),
    /** The account that made the request. */
    account: {
      /** The id of the account, a UUID. */
      id: entry.accountId,
      /** The name of the account. */
      name: names.get(entry.accountId) ?? "",
    },
  };
}
