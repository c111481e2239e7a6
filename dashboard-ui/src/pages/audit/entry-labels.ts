import type { AuditField } from "../../../../sdk/src/contract/audit-entry.ts";
import type { AuditEntry } from "../../api/types.ts";

const END_REASONS: Readonly<Record<AuditEntry["endReason"], string>> = {
  stop: "Completed.",
  refused: "Refused by the service.",
  client_gone: "Client disconnected.",
  upstream_error: "The provider failed.",
  timeout: "The provider timed out.",
  shutdown: "The service was shut down.",
  node_lost: "The node crashed while answering. The outcome is unknown; nothing was charged.",
};
const USAGE_SOURCES: Readonly<Record<AuditEntry["usageSource"], string>> = {
  upstream: "Reported by provider",
  estimated: "Estimated by the service",
  none: "none",
};

/** How a request ended, as a sentence. */
export function endLabel({ endReason }: Pick<AuditEntry, "endReason">): string {
  return END_REASONS[endReason];
}

/** Where the token counts come from. */
export function tokenSourceLabel({ usageSource }: Pick<AuditEntry, "usageSource">): string {
  return USAGE_SOURCES[usageSource];
}

/** Whether the request succeeded. */
export function wentWell({ status, errorCode }: Pick<AuditEntry, "status" | "errorCode">): boolean {
  return status < 400 && errorCode === null;
}

/** The entry as `GET /v1/audit` returns it. */
export function entryJson(entry: AuditEntry): string {
  const shape = {
    id: entry.id,
    request_id: entry.requestId,
    timestamp: entry.timestamp.toISOString(),
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
    token_count: entry.tokenCount,
    cost_nano_usd: Number(entry.costNanoUsd),
    latency_ms: entry.latencyMs,
    time_to_first_token_ms: entry.timeToFirstTokenMs,
    source_ip: entry.sourceIp,
    would_refuse: entry.wouldRefuse,
    cache_write_tokens: entry.cacheWriteTokens,
    cache_write_1h_tokens: entry.cacheWrite1hTokens,
    reasoning_tokens: entry.reasoningTokens,
    audio_tokens: entry.audioTokens,
    image_tokens: entry.imageTokens,
  } satisfies Record<AuditField, unknown>;
  return JSON.stringify(shape, null, 2);
}
