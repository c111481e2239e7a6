import type { Gateway } from "../gateway/gateway.ts";
import type { UpstreamHealth } from "../gateway/upstream-health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import type { OpenRequests } from "./open-requests.ts";

const NANO_USD_IN_USD = 1e9;

export interface MeasuredParts {
  readonly node: OpenNode;
  readonly records: OpenRecords;
  readonly requests: OpenRequests;
  readonly gateway: Gateway;
  readonly callLimits: { readonly refused: ReadonlyMap<string, number> };
}

/** Adds the metrics of the parts of the node. */
export function measure(
  metrics: Metrics,
  { node: { clocks, admission, redisMemory }, records, requests: opened, gateway, callLimits }: MeasuredParts,
): void {
  const { recorder, journal, credits, reconciler, reads } = records;
  const { requests, bodies, overload } = opened;
  metrics.counters(
    "reads_refused",
    "Refused reads of the audit log and of usage, by reason: waiting, timeout, budget or streams.",
    "reason",
    () => reads.refused,
  );
  metrics.gauge("reads_waiting", "Reads of the audit log and of usage that are queued.", () => reads.waiting);
  metrics.counters(
    "procedure_calls_refused",
    "Procedure calls refused by rate limits: of the caller, or of the address for auth.*.",
    "reason",
    () => callLimits.refused,
  );
  metrics.gauge("requests_in_flight", "Requests under /v1 that are being answered.", () => requests.inFlight);
  metrics.serves(requests.operationNames);
  metrics.counter(
    "unknown_key_requests",
    "Refused requests under /v1 without a known key. They are in no account's audit log.",
    () => requests.withoutKnownKey,
  );
  metrics.gauge(
    "event_loop_lag_seconds",
    "Delay of the event loop. Beyond one second new requests are refused.",
    () => overload.lagMs / 1_000,
  );
  metrics.counter(
    "shed_requests",
    "Requests refused because the event loop was delayed.",
    () => overload.shed,
  );
  metrics.gauge(
    "request_body_bytes",
    "Bytes of request bodies that are being received or wait for admission.",
    () => bodies.bytes,
  );
  metrics.counters(
    "request_bodies_refused",
    "Request bodies refused before they were complete, by reason.",
    "reason",
    () => bodies.refused,
  );
  measureUpstreams(metrics, gateway);
  metrics.gauge(
    "admission_fenced",
    "1 while this node admits no requests because it uses another Redis server than the other nodes.",
    () => (admission.isFenced ? 1 : 0),
  );
  metrics.gauge(
    "redis_may_evict",
    "1 if Redis may evict keys when its memory is full, which lifts rate limits.",
    () => (redisMemory === null || redisMemory.mayEvict === null ? null : Number(redisMemory.mayEvict)),
  );
  metrics.gauge(
    "clock_skew_seconds",
    "Clock of this node minus clock of the database. Beyond 300 in either direction the node deletes nothing by age.",
    () => (clocks.skewMs === null ? null : clocks.skewMs / 1_000),
  );
  metrics.gauge(
    "recorder_waiting_entries",
    "Audit entries in the journal that are not in the database yet.",
    () => recorder.backlog().entries,
  );
  metrics.gauge(
    "recorder_lag_seconds",
    "Age of the oldest audit entry that is not in the database yet.",
    () => recorder.backlog().oldestMs / 1_000,
  );
  metrics.counter(
    "recorder_failures",
    "Failed inserts of batches of audit entries.",
    () => recorder.backlog().failures,
  );
  metrics.gauge(
    "journal_segments",
    "Journal files that are still needed.",
    () => recorder.backlog().segments,
  );
  metrics.gauge(
    "journal_rejected_lines",
    "Journal lines that could not be read or recorded. An operator must replay or discard them.",
    () => journal.rejectedLines(),
  );
  metrics.gauge(
    "credit_holds",
    "Requests for which this node holds credit.",
    () => credits.outstanding().holds,
  );
  metrics.gauge(
    "credit_held_usd",
    "Credit held for requests on this node, in US dollars.",
    () => Number(credits.outstanding().nanoUsd) / NANO_USD_IN_USD,
  );
  metrics.gauge(
    "credit_reserved_usd",
    "Credit reserved by all nodes, in US dollars, at the last reconciliation.",
    () => (reconciler.last === null ? null : Number(reconciler.last.reserved.nanoUsd) / NANO_USD_IN_USD),
  );
  metrics.gauge(
    "credit_stuck_usd",
    "Credit reserved by nodes that have not been seen for a minute, in US dollars, at the last reconciliation.",
    () => (reconciler.last === null ? null : Number(reconciler.last.reserved.stuckNanoUsd) / NANO_USD_IN_USD),
  );
  metrics.gauge(
    "reconciliation_balance_mismatches",
    "Accounts whose balance is negative or not the sum of their ledger, at the last reconciliation.",
    () => reconciler.last?.mismatches.length ?? null,
  );
  metrics.gauge(
    "reconciliation_usage_mismatches",
    "Usage totals that are not the sum of their entries, at the last reconciliation.",
    () => reconciler.last?.usageMismatches.length ?? null,
  );
  metrics.gauge("reconciliation_checked_timestamp_seconds", "Time of the last reconciliation.", () =>
    reconciler.last === null ? null : reconciler.last.checkedAt.getTime() / 1_000,
  );
}

const BREAKER_VALUES = { closed: 0, "half-open": 1, open: 2 } as const;

function measureUpstreams(metrics: Metrics, gateway: Gateway): void {
  const byUpstream = (value: (health: UpstreamHealth) => number) => () =>
    new Map(gateway.health().map((health) => [health.name, value(health)]));
  metrics.gauges(
    "upstream_breaker_state",
    "State of the breaker: 0 closed, 1 half-open, 2 open.",
    "upstream",
    byUpstream(({ breaker }) => BREAKER_VALUES[breaker]),
  );
  metrics.gauges(
    "upstream_requests_in_flight",
    "Requests that the upstream is answering.",
    "upstream",
    byUpstream(({ inFlight }) => inFlight),
  );
  metrics.gauges(
    "upstream_requests_waiting",
    "Requests that wait for a concurrency slot of the upstream.",
    "upstream",
    byUpstream(({ waiting }) => waiting),
  );
  metrics.counters(
    "upstream_successes",
    "Requests that the upstream has answered.",
    "upstream",
    byUpstream(({ successes }) => successes),
  );
  metrics.counters(
    "upstream_failures",
    "Requests that the upstream has failed.",
    "upstream",
    byUpstream(({ failures }) => failures),
  );
  metrics.gauges(
    "upstream_credential_refused",
    "1 while the upstream refuses the service's credential.",
    "upstream",
    byUpstream(({ credentialRefusedAt }) => Number(credentialRefusedAt !== null)),
  );
}
