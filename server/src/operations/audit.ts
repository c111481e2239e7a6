import { AUDIT_PAGE_LIMIT, type AuditLog } from "../audit/audit-log.ts";
import { type ListedEntry, requestIdOf, tokenCountOf } from "../audit/entry.ts";
import type { EntryFilter } from "../audit/filter.ts";
import { Failure } from "../errors/failure.ts";
import { readFilter, requireKnown } from "./audit-query.ts";
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
    read: ({ query }) => {
      requireKnown(query, ["limit", "cursor"]);
      const limit = readLimit(query.get("limit"));
      return { filter: readFilter(query), cursor: query.get("cursor"), limit };
    },
    run: async ({ input: { filter, cursor, limit }, accountId }) => {
      const { entries, nextCursor } = await auditLog.list(accountId, filter, cursor, limit);
      return jsonReply({
        object: "list",
        data: entries.map(publicView),
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

function publicView(entry: ListedEntry) {
  return {
    id: entry.id,
    request_id: requestIdOf(entry.id),
    timestamp: entry.at.toISOString(),
    key_id: entry.keyId,
    key_name: entry.keyName,
    endpoint: entry.endpoint,
    model: entry.model,
    upstream: entry.upstream,
    status: entry.status,
    error_code: entry.errorCode,
    end_reason: entry.endReason,
    usage_source: entry.usageSource,
    prompt_tokens: entry.promptTokens,
    completion_tokens: entry.completionTokens,
    cached_tokens: entry.cachedTokens,
    token_count: tokenCountOf(entry),
    // One request's cost is far below 2^53 nano-USD (9 million USD), which is what a JSON number holds.
    cost_nano_usd: Number(entry.costNanoUsd),
    latency_ms: entry.latencyMs,
    time_to_first_token_ms: entry.timeToFirstTokenMs,
    source_ip: entry.sourceIp,
    would_refuse: entry.wouldRefuse,
  };
}
