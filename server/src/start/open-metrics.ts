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
export function measure(metrics: Metrics, parts: MeasuredParts): void {
  measureRequests(metrics, parts);
  measureNode(metrics, parts.node);
  measureRecords(metrics, parts.records);
  measureUpstreams(metrics, parts.gateway);
}

function measureRequests(
  metrics: Metrics,
  { records: { reads }, requests: opened, callLimits }: MeasuredParts,
) {
  const { requests, bodies, overload } = opened;
  metrics.serves(requests.operationNames);
  metrics.gauges(null, {
    requests_in_flight: ["Requests under /v1 that are being answered.", () => requests.inFlight],
    event_loop_lag_seconds: [
      "Delay of the event loop. Beyond one second new requests are refused.",
      () => overload.lagMs / 1_000,
    ],
    request_body_bytes: [
      "Bytes of request bodies that are being received or wait for admission.",
      () => bodies.bytes,
    ],
    reads_waiting: ["Reads of the audit log and of usage that are queued.", () => reads.waiting],
  });
  metrics.counters(null, {
    unknown_key_requests: [
      "Refused requests under /v1 without a known key. They are in no account's audit log.",
      () => requests.withoutKnownKey,
    ],
    shed_requests: ["Requests refused because the event loop was delayed.", () => overload.shed],
  });
  metrics.counters("reason", {
    request_bodies_refused: [
      "Request bodies refused before they were complete, by reason.",
      () => bodies.refused,
    ],
    reads_refused: [
      "Refused reads of the audit log and of usage, by reason: waiting, timeout, budget or streams.",
      () => reads.refused,
    ],
    procedure_calls_refused: [
      "Procedure calls refused by rate limits: of the caller, or of the address for auth.*.",
      () => callLimits.refused,
    ],
  });
}

function measureNode(metrics: Metrics, { clocks, admissions, redisMemory }: OpenNode): void {
  metrics.gauges(null, {
    admission_fenced: [
      "1 while this node admits no requests because it uses another Redis server than the other nodes.",
      () => Number(admissions.isFenced),
    ],
    redis_may_evict: [
      "1 if Redis may evict keys when its memory is full, which lifts rate limits.",
      () => {
        const mayEvict = redisMemory?.mayEvict() ?? null;
        return mayEvict === null ? null : Number(mayEvict);
      },
    ],
    clock_skew_seconds: [
      "Clock of this node minus clock of the database. Beyond 300 in either direction the node deletes nothing by age.",
      () => (clocks.skewMs === null ? null : clocks.skewMs / 1_000),
    ],
  });
}

function measureRecords(metrics: Metrics, { recorder, journal, credits, reconciler }: OpenRecords): void {
  const usd = (nanoUsd: bigint | undefined) =>
    nanoUsd === undefined ? null : Number(nanoUsd) / NANO_USD_IN_USD;
  metrics.counters(null, {
    recorder_failures: ["Failed inserts of batches of audit entries.", () => recorder.backlog().failures],
  });
  metrics.gauges(null, {
    recorder_waiting_entries: [
      "Audit entries in the journal that are not in the database yet.",
      () => recorder.backlog().entries,
    ],
    recorder_lag_seconds: [
      "Age of the oldest audit entry that is not in the database yet.",
      () => recorder.backlog().oldestMs / 1_000,
    ],
    journal_segments: ["Journal files that are still needed.", () => recorder.backlog().segments],
    journal_rejected_lines: [
      "Journal lines that could not be read or recorded. An operator must replay or discard them.",
      () => journal.rejectedLines(),
    ],
    credit_holds: ["Requests for which this node holds credit.", () => credits.outstanding().holds],
    credit_held_usd: [
      "Credit held for requests on this node, in US dollars.",
      () => usd(credits.outstanding().nanoUsd),
    ],
    credit_reserved_usd: [
      "Credit reserved by all nodes, in US dollars, at the last reconciliation.",
      () => usd(reconciler.last?.reserved.nanoUsd),
    ],
    credit_stuck_usd: [
      "Credit reserved by nodes that have not been seen for a minute, in US dollars, at the last reconciliation.",
      () => usd(reconciler.last?.reserved.stuckNanoUsd),
    ],
    reconciliation_balance_mismatches: [
      "Accounts whose balance is negative or not the sum of their ledger, at the last reconciliation.",
      () => reconciler.last?.mismatches.length ?? null,
    ],
    reconciliation_usage_mismatches: [
      "Usage totals that are not the sum of their entries, at the last reconciliation.",
      () => reconciler.last?.usageMismatches.length ?? null,
    ],
    reconciliation_checked_timestamp_seconds: [
      "Time of the last reconciliation.",
      () => (reconciler.last === null ? null : reconciler.last.checkedAt.getTime() / 1_000),
    ],
  });
}

const BREAKER_VALUES = { closed: 0, "half-open": 1, open: 2 } as const;

function measureUpstreams(metrics: Metrics, gateway: Gateway): void {
  const byUpstream = (value: (health: UpstreamHealth) => number) => () =>
    new Map(gateway.health().map((health) => [health.name, value(health)]));
  metrics.gauges("upstream", {
    upstream_breaker_state: [
      "State of the breaker: 0 closed, 1 half-open, 2 open.",
      byUpstream(({ breaker }) => BREAKER_VALUES[breaker]),
    ],
    upstream_requests_in_flight: [
      "Requests that the upstream is answering.",
      byUpstream(({ inFlight }) => inFlight),
    ],
    upstream_requests_waiting: [
      "Requests that wait for a concurrency slot of the upstream.",
      byUpstream(({ waiting }) => waiting),
    ],
    upstream_credential_refused: [
      "1 while the upstream refuses the service's credential.",
      byUpstream(({ credentialRefusedAt }) => Number(credentialRefusedAt !== null)),
    ],
  });
  metrics.counters("upstream", {
    upstream_successes: [
      "Requests that the upstream has answered.",
      byUpstream(({ successes }) => successes),
    ],
    upstream_failures: ["Requests that the upstream has failed.", byUpstream(({ failures }) => failures)],
  });
}
