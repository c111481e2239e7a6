import { tracked } from "@trpc/server";
import * as z from "zod";
import { RefusedCaller } from "../../access/access.ts";
import { AUDIT_PAGE_LIMIT, type AuditLog } from "../../audit/audit-log.ts";
import type { TailNews } from "../../audit/audit-tail.ts";
import type { AsOf } from "../../audit/cursor.ts";
import { filterInput, filterOf } from "../../audit/filter.ts";
import { shownOf } from "../../audit/public-entry.ts";
import type { AccountId } from "../../contract/account.ts";
import { entryIdOf, type ListedEntry, requestIdOf, tokenCountOf } from "../../contract/entry.ts";
import type { Reader } from "../../database/reads.ts";
import { Failure, toFailure } from "../../errors/failure.ts";
import type { RpcServices } from "../rpc-services.ts";
import { accountReadProcedure, router, toTrpcError } from "../trpc.ts";
import { chainPosition, direction, sha256Digest, wholeNumber } from "./inputs.ts";

/** The inputs of a page of entries. */
export const entryPage = {
  ...filterInput,
  /** The `nextCursor` of the previous page, which had the same filters. Omit it for the first page. */
  cursor: z.string().optional(),
  direction,
  /** The maximum number of entries of the page: 1 to 1,000. Default 50. */
  limit: wholeNumber(1, AUDIT_PAGE_LIMIT).default(50),
};

/** Reads a page of an account's entries. */
export async function readEntriesPage(
  auditLog: AuditLog,
  accountId: AccountId,
  input: z.output<z.ZodObject<typeof entryPage>>,
  reader: Reader,
) {
  const { cursor = null, limit } = input;
  const page = await auditLog.list(accountId, { filter: filterOf(input), cursor, limit, reader });
  return {
    /** The entries of the page, newest first. */
    entries: page.entries.map(publicView),
    /** The `cursor` of the next page; `null` on the last page. */
    nextCursor: page.nextCursor,
  };
}

/** The `x-request-id` of the answer to the request. */
export const requestId = z.string().transform((text, context) => {
  const id = entryIdOf(text);
  if (id !== null) return id;
  context.addIssue({
    code: "custom",
    message: "must be a request id, as in the header `x-request-id` of an answer",
  });
  return z.NEVER;
});

export function auditRouter({ auditLog, auditChain, auditSummary, auditTail }: RpcServices) {
  return router({
    /** Entries of the audit log, newest first. If few of many entries match, a page may have fewer entries than `limit`, or none. */
    list: accountReadProcedure
      .input(z.strictObject(entryPage).prefault({}))
      .query(({ ctx, input }) => readEntriesPage(auditLog, ctx.accountId, input, ctx.reader)),
    /** The entry of one request. */
    get: accountReadProcedure
      .input(z.strictObject({ requestId }))
      .query(async ({ ctx, input }) => publicView(await auditLog.get(ctx.accountId, input.requestId))),
    /**
     * Sums of the entries that match: totals, a histogram, and how many have each model, error code and status. Of more than 200,000
     * entries in the period, the newest are counted.
     */
    summary: accountReadProcedure
      .input(z.strictObject(filterInput).prefault({}))
      .query(({ ctx, input }) => auditSummary.summarize(ctx.accountId, filterOf(input), ctx.reader)),
    /**
     * Entries that are recorded from now on, or after `lastEventId`: at most 200 at a time. Without `lastEventId`, the first event has no
     * entries: its `id` is the `lastEventId` to continue after if the connection is lost. Ends when the caller may no longer read the account.
     */
    tail: accountReadProcedure
      .input(
        z
          .strictObject({
            ...filterInput,
            /** The `id` of the last event that was received: the subscription continues after it. Default: only new entries. */
            lastEventId: z.string().optional(),
          })
          .prefault({}),
      )
      .subscription(async function* ({ ctx, input, signal }) {
        const ended = signal ?? new AbortController().signal;
        const after = input.lastEventId === undefined ? null : readEventId(input.lastEventId);
        const { accountId, reader, requireSameCaller } = ctx;
        try {
          const followed = { accountId, filter: filterOf(input), after, reader };
          yield* tailEvents(auditTail.follow(followed, ended), after === null, requireSameCaller);
        } catch (thrown) {
          throw toTrpcError(thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown));
        }
      }),
    /**
     * Detects entries that were changed, removed or added after they were recorded. A call covers some hundred thousand;
     * pass `next` as `after` to continue.
     */
    verify: accountReadProcedure
      .input(
        z
          .strictObject({
            /** `next` of the previous call. Omit it to begin with the first batch. */
            after: chainPosition.optional(),
            /**
             * A `head` that you saved earlier. The call then reports if the chain no longer contains it. One of a batch before `removedBatches`
             * cannot be compared any more.
             */
            expected: z
              .strictObject({
                /** The number of the batch, from 1. */
                batch: chainPosition.min(1),
                /** The SHA-256 digest: 64 hexadecimal digits in lower case. */
                digest: sha256Digest,
              })
              .optional(),
          })
          .prefault({}),
      )
      .query(({ ctx, input }) =>
        auditChain.verify(ctx.accountId, input.after ?? null, input.expected ?? null, ctx.reader),
      ),
  });
}

/**
 * The events of a subscription to the log. News without entries are left out, except for the first ones of a new client, which have the id to
 * continue after.
 */
async function* tailEvents(
  allNews: AsyncIterable<TailNews | null>,
  isNewClient: boolean,
  requireSameCaller: () => Promise<void>,
) {
  let needsId = isNewClient;
  for await (const news of allNews) {
    await requireSameCaller();
    if (news === null) continue;
    const { upTo, entries, skipped, hasGap } = news;
    if (entries.length === 0 && !hasGap && !needsId) continue;
    needsId = false;
    yield tracked(String(upTo), {
      /** The new entries, at most 200, oldest first. */
      entries: entries.map(publicView),
      /** The number of further entries, which the event leaves out, counted up to 10,000. */
      skipped,
      /** Whether entries before these may be missing. `audit.list` has them. */
      hasGap,
    });
  }
}

function readEventId(text: string): AsOf {
  if (/^\d{1,18}$/.test(text)) return BigInt(text) as AsOf;
  throw new Failure("invalid_request", "lastEventId: must be the id of an event of this subscription", {
    param: "lastEventId",
  });
}

/** An entry as users of its account read it: the fields of the API, under the names of procedures. */
export function publicView(entry: ListedEntry) {
  const { id, at } = entry;
  return { ...shownOf(entry), requestId: requestIdOf(id), timestamp: at, tokenCount: tokenCountOf(entry) };
}
