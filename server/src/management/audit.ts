import { tracked } from "@trpc/server";
import { z } from "zod";
import { RefusedCaller } from "../access/access.ts";
import { AUDIT_PAGE_LIMIT } from "../audit/audit-log.ts";
import type { AsOf } from "../audit/cursor.ts";
import { filterInput, filterOf } from "../audit/filter.ts";
import { entryIdOf, type ListedEntry, requestIdOf, tokenCountOf } from "../contract/entry.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import type { RpcServices } from "./router.ts";
import { accountReader, router, toTrpcError } from "./trpc.ts";

const batchNumber = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** As answers carry it in `x-request-id`. */
const requestId = z.string().transform((text, context) => {
  const id = entryIdOf(text);
  if (id !== null) return id;
  context.addIssue({
    code: "custom",
    message: "must be a request id, as in the header `x-request-id` of an answer",
  });
  return z.NEVER;
});

export function auditRouter({ auditLog, auditChain, auditTail }: RpcServices) {
  return router({
    list: accountReader
      .input(
        z
          .strictObject({
            ...filterInput,
            cursor: z.string().optional(),
            // Infinite queries of tRPC send this. Pages go from newer to older only.
            direction: z.literal("forward").optional(),
            limit: z.number().int().min(1).max(AUDIT_PAGE_LIMIT).default(50),
          })
          .default({ limit: 50 }),
      )
      .query(async ({ ctx, input }) => {
        const { accountId, reader } = ctx;
        const page = await auditLog.list(
          accountId,
          filterOf(input),
          input.cursor ?? null,
          input.limit,
          reader,
        );
        return { entries: page.entries.map(publicView), nextCursor: page.nextCursor };
      }),
    /** The entry of one request. */
    get: accountReader
      .input(z.strictObject({ requestId }))
      .query(async ({ ctx, input }) => publicView(await auditLog.get(ctx.accountId, input.requestId))),
    /**
     * Entries that are recorded from now on, or after `lastEventId`: at most some hundred at a time; `skipped` counts the
     * others. Ends when the caller may no longer read the account.
     */
    tail: accountReader
      .input(z.strictObject({ ...filterInput, lastEventId: z.string().optional() }).default({}))
      .subscription(async function* ({ ctx, input, signal }) {
        const ended = signal ?? new AbortController().signal;
        const after = input.lastEventId === undefined ? null : readEventId(input.lastEventId);
        try {
          const { accountId, reader } = ctx;
          for await (const news of auditTail.follow(accountId, filterOf(input), after, ended, reader)) {
            await ctx.requireSameCaller();
            if (news === null) continue;
            const { upTo, entries, skipped, hasGap } = news;
            if (entries.length > 0 || hasGap) {
              yield tracked(String(upTo), { entries: entries.map(publicView), skipped, hasGap });
            }
          }
        } catch (thrown) {
          throw toTrpcError(thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown));
        }
      }),
    /**
     * Detects entries that were changed, removed or added after they were recorded. A call covers some hundred thousand;
     * pass `next` as `after` to continue.
     */
    verify: accountReader
      .input(
        z
          .strictObject({
            after: batchNumber.optional(),
            expected: z
              .strictObject({
                batch: batchNumber.min(1),
                digest: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 digest in hexadecimal"),
              })
              .optional(),
          })
          .default({}),
      )
      .query(({ ctx, input }) =>
        auditChain.verify(ctx.accountId, input.after ?? null, input.expected ?? null, ctx.reader),
      ),
  });
}

function readEventId(text: string): AsOf {
  if (/^\d{1,18}$/.test(text)) return BigInt(text) as AsOf;
  throw new Failure("invalid_request", "lastEventId: must be the id of an event of this subscription", {
    param: "lastEventId",
  });
}

/** An entry without what only the service itself needs. */
function publicView(entry: ListedEntry) {
  const { accountId, key, at, spender, implausibleNanoUsd, keyed, ...rest } = entry;
  return { ...rest, requestId: requestIdOf(entry.id), timestamp: at, tokenCount: tokenCountOf(entry) };
}
