import { AUDIT_PAGE_LIMIT, type AuditLog } from "../audit/audit-log.ts";
import { publicEntryOf } from "../audit/entry-columns.ts";
import { Failure } from "../errors/failure.ts";
import { readFilter, requireKnown } from "./audit-query.ts";
import { type Endpoint, type EndpointRequest, JSON_HEADERS, NO_FACTS, type Reply } from "./endpoint.ts";
import { exactPath } from "./routing.ts";

const DEFAULT_LIMIT = 100;

/** `GET /v1/audit`: a page of the account's audit entries, newest first. */
export class AuditEndpoint implements Endpoint {
  readonly method = "GET";
  readonly name = "GET /v1/audit";
  readonly openedBy = "key-or-management-token";
  readonly match = exactPath("/v1/audit");
  readonly #auditLog: AuditLog;

  constructor(auditLog: AuditLog) {
    this.#auditLog = auditLog;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    const { query } = request.exchange;
    requireKnown(query, ["limit", "cursor"]);
    const limit = readLimit(query.get("limit"));
    const filter = readFilter(query);
    const accountId = await request.confirm();
    const page = await this.#auditLog.list(accountId, filter, query.get("cursor"), limit);
    const body = JSON.stringify({
      object: "list",
      data: page.entries.map(publicEntryOf),
      has_more: page.nextCursor !== null,
      next_cursor: page.nextCursor,
    });
    return { kind: "whole", headers: JSON_HEADERS, body, facts: NO_FACTS };
  }
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
