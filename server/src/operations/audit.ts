import { AUDIT_PAGE_LIMIT, type AuditLog } from "../audit/audit-log.ts";
import { publicEntryOf } from "../audit/entry-columns.ts";
import type { EntryFilter } from "../audit/filter.ts";
import { Failure } from "../errors/failure.ts";
import { AUDIT_ERRORS, filterParameters, readFilter, requireKnown } from "./audit-query.ts";
import { errors, json, KEY_OR_TOKEN, page, query, ref } from "./openapi-parts.ts";
import { jsonReply, type QueryOperation } from "./operation.ts";

const DEFAULT_LIMIT = 100;

interface AuditPageInput {
  readonly filter: EntryFilter;
  readonly cursor: string | null;
  readonly limit: number;
}

/** `GET /v1/audit`: a page of the account's audit entries, newest first. */
export function listAuditEntries(auditLog: AuditLog): QueryOperation<AuditPageInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/audit",
    auth: "key-or-management-token",
    openapi: {
      operationId: "listAuditEntries",
      summary: "A page of the account's audit entries, newest first",
      security: KEY_OR_TOKEN,
      parameters: [
        ...filterParameters(),
        query("limit", { type: "integer", minimum: 1, maximum: AUDIT_PAGE_LIMIT, default: DEFAULT_LIMIT }),
        query("cursor", { type: "string" }),
      ],
      responses: {
        200: { description: "The page", content: json(page(ref("AuditEntry"))) },
        ...errors(AUDIT_ERRORS),
      },
    },
    read: ({ query: sent }) => {
      requireKnown(sent, ["limit", "cursor"]);
      const limit = readLimit(sent.get("limit"));
      return { filter: readFilter(sent), cursor: sent.get("cursor"), limit };
    },
    run: async ({ input: { filter, cursor, limit }, accountId }) => {
      const { entries, nextCursor } = await auditLog.list(accountId, filter, cursor, limit);
      return jsonReply({
        object: "list",
        data: entries.map(publicEntryOf),
        has_more: nextCursor !== null,
        next_cursor: nextCursor,
      });
    },
  };
}

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > AUDIT_PAGE_LIMIT) {
    throw new Failure("invalid_request", `limit: must be a whole number from 1 to ${AUDIT_PAGE_LIMIT}`, {
      param: "limit",
    });
  }
  return limit;
}
