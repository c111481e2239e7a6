import { client } from "../../../api/client.ts";
import type { AuditEntry } from "../../../api/types.ts";
import { type CsvColumn, exportCsv } from "../../../components/csv.ts";
import type { AuditFilters } from "../../audit/filters.ts";

const PAGE_SIZE = 500;

/** Named as in the exports of an account's log, with the account. */
const ENTRY: readonly CsvColumn<AuditEntry>[] = [
  { name: "request_id", read: ({ requestId }) => requestId },
  { name: "timestamp", read: ({ timestamp }) => timestamp },
  { name: "account_id", read: ({ account }) => account?.id ?? null },
  { name: "account_name", read: ({ account }) => account?.name ?? null },
  { name: "key_id", read: ({ keyId }) => keyId },
  { name: "key_name", read: ({ keyName }) => keyName },
  { name: "endpoint", read: ({ endpoint }) => endpoint },
  { name: "model", read: ({ model }) => model },
  { name: "upstream", read: ({ upstream }) => upstream },
  { name: "status", read: ({ status }) => status },
  { name: "error_code", read: ({ errorCode }) => errorCode },
  { name: "end_reason", read: ({ endReason }) => endReason },
  { name: "prompt_tokens", read: ({ promptTokens }) => promptTokens },
  { name: "completion_tokens", read: ({ completionTokens }) => completionTokens },
  { name: "token_count", read: ({ tokenCount }) => tokenCount },
  { name: "cost_nano_usd", read: ({ costNanoUsd }) => costNanoUsd },
  { name: "latency_ms", read: ({ latencyMs }) => latencyMs },
  { name: "time_to_first_token_ms", read: ({ timeToFirstTokenMs }) => timeToFirstTokenMs },
  { name: "source_ip", read: ({ sourceIp }) => sourceIp },
];

/** Downloads the requests of all accounts that match, newest first. */
export function exportLog(filters: AuditFilters): Promise<void> {
  return exportCsv("requests", ENTRY, async (cursor) => {
    const input = { ...filters, limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const { entries, nextCursor } = await client.operator.log.list.query(input);
    return { rows: entries, next: nextCursor };
  });
}
