import * as z from "zod";
import type { AccountId } from "../../contract/account.ts";
import type { LedgerEntryId } from "../../contract/ids.ts";
import { readPage } from "../../database/page.ts";
import { withAnswerTimeout } from "../../errors/deadline.ts";
import { noSuchAccount } from "../caller.ts";
import type { RpcServices } from "../rpc-services.ts";
import { accountReadProcedure, router } from "../trpc.ts";
import { paging } from "./inputs.ts";

const page = z.strictObject(paging<LedgerEntryId>()).prefault({});

export function creditsRouter({ ledger, charged }: RpcServices) {
  const onceCharged = <Answer>(accountId: AccountId, read: () => Promise<Answer>) =>
    withAnswerTimeout(async () => {
      await charged(accountId);
      return read();
    });
  return router({
    /** The balance of the account, after all requests that this node has recorded. */
    balance: accountReadProcedure.query(async ({ ctx }) => {
      const balance = await onceCharged(ctx.accountId, () => ledger.readBalance(ctx.accountId));
      if (balance === null) throw noSuchAccount();
      return balance;
    }),

    /**
     * The statement of the account, newest first: each grant and adjustment, and the requests of each UTC day as one line with their
     * complete sum.
     */
    statement: accountReadProcedure.input(page).query(async ({ ctx, input }) => {
      const { items, last } = await onceCharged(ctx.accountId, () =>
        readPage(input.limit, (limit) => ledger.listStatement(ctx.accountId, input.cursor ?? null, limit)),
      );
      return {
        /** The lines of the page, newest first. */
        lines: items,
        /** The `cursor` of the next page; `null` on the last page. */
        nextCursor: last?.id ?? null,
      };
    }),

    /** The transactions of the account, newest first. */
    ledger: accountReadProcedure.input(page).query(async ({ ctx, input }) => {
      const { items, last } = await onceCharged(ctx.accountId, () =>
        readPage(input.limit, (limit) => ledger.listLedger(ctx.accountId, input.cursor ?? null, limit)),
      );
      return {
        /** The transactions of the page, newest first. */
        entries: items,
        /** The `cursor` of the next page; `null` on the last page. */
        nextCursor: last?.id ?? null,
      };
    }),
  });
}
