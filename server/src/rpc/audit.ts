import { z } from "zod";
import { AUDIT_PAGE_LIMIT, type AuditLog } from "../audit/audit-log.ts";
import { type ListedEntry, requestIdOf, tokenCountOf } from "../audit/entry.ts";
import { filterInput, filterOf } from "../audit/filter.ts";
import { accountReader, router } from "./trpc.ts";

export interface AuditServices {
  readonly auditLog: AuditLog;
}

export function auditRouter({ auditLog }: AuditServices) {
  return router({
    list: accountReader
      .input(
        z
          .strictObject({
            ...filterInput,
            cursor: z.string().optional(),
            // What tRPC's infinite queries send along. There is one direction: from newer to older.
            direction: z.literal("forward").optional(),
            limit: z.number().int().min(1).max(AUDIT_PAGE_LIMIT).default(50),
          })
          .default({ limit: 50 }),
      )
      .query(async ({ ctx, input }) => {
        const page = await auditLog.list(ctx.accountId, filterOf(input), input.cursor ?? null, input.limit);
        return { entries: page.entries.map(publicView), nextCursor: page.nextCursor };
      }),
  });
}

function publicView(entry: ListedEntry) {
  const { accountId: _, key: __, at, ...rest } = entry;
  return { ...rest, requestId: requestIdOf(entry.id), timestamp: at, tokenCount: tokenCountOf(entry) };
}
