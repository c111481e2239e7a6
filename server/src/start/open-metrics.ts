import type { Publisher } from "../admission/publisher.ts";
import type { SettingsComparison } from "../admission/settings-comparison.ts";
import type { PoolUse } from "../database/connection-pool.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { UpstreamHealth } from "../gateway/upstream-state.ts";
import { type Metrics, NANO_USD_IN_USD } from "../metrics/metrics.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { StoreProbe } from "./store-probe.ts";

interface MeasuredParts {
  readonly node: OpenNode;
  readonly records: OpenRecords;
  readonly requests: OpenRequests;
  readonly gateway: Gateway;
  readonly publisher: Publisher;
  /** When the certificate in use expires; `null` without TLS. */
  readonly certificateExpiresAt: () => Date | null;
  /** How many problems the catalog file has; `null` without one. */
  readonly catalogProblems: () => number | null;
  readonly settingsComparison: SettingsComparison;
  readonly callLimits: { readonly refused: ReadonlyMap<string, number> };
}

/** Adds the metrics of the parts of the node. */
export function addMetrics(metrics: Metrics, parts: MeasuredParts): void {
  addRequestMetrics(metrics, parts);
  addNodeMetrics(metrics, parts);
  addStoreMetrics(metrics, parts.node);
  addRecordMetrics(metrics, parts.records);
  addUpstreamMetrics(metrics, parts.gateway);
}

function addRequestMetrics(metrics: Metrics, { records: { reads }, requests, callLimits }: MeasuredParts) {
  const { handler, bodies, overload } = requests;
  metrics.serves(handler.endpoints);
  metrics.gauges(null, {
    requests_in_flight: ["Requests under /v1 that are being answered.", () => handler.inFlight],
    event_loop_lag_seconds: [
      "Average delay of the event loop. Beyond one second every new request is refused.",
      () => overload.delayMs / 1_000,
    ],
    request_body_bytes: [
      "Bytes of request bodies, and half of those of large answers, that are in memory. A body counts for a quarter while its answer is streamed.",
      () => bodies.bytes,
    ],
    request_body_bytes_max: ["Bytes of request bodies that may be in memory.", () => bodies.maxBytes],
    reads_waiting: ["Reads of the audit log and of usage that are queued.", () => reads.waiting],
  });
  metrics.counters(null, {
    unknown_key_requests: [
      "Refused requests under /v1 without a known key. They are in no account's audit log.",
      () => handler.refusedWithoutKnownKey,
    ],
    shed_requests: [
      "Requests refused because more came than the process could serve.",
      () => overload.refusedRequests,
    ],
  });
  metrics.counters("reason", {
    request_bodies_refused: [
      "Request bodies refused before they were complete, by reason.",
      () => bodies.refused,
    ],
    answers_refused: [
      "Answers of upstreams for which there was no memory, by reason: account_bytes, process_bytes or too_large.",
      () => bodies.refusedAnswers,
    ],
    reads_refused: [
      "Refused reads of the audit log and of usage, by reason: waiting, timeout, budget or streams.",
      () => reads.refused,
    ],
    procedure_calls_refused: [
      "Procedure calls refused by rate limits: of the caller, of its account, or of the address for auth.*.",
      () => callLimits.refused,
    ],
  });
}

function addStoreMetrics(metrics: Metrics, { probes, redis, redisMemory, poolUses }: OpenNode): void {
  const isUp = (probe: StoreProbe | null) => (probe?.last == null ? null : Number(probe.last.isUp));
  const seconds = (probe: StoreProbe | null) => (probe?.last?.ms == null ? null : probe.last.ms / 1_000);
  metrics.gauges(null, {
    database_up: [
      "1 if PostgreSQL answered and accepted writes when it was last asked.",
      () => isUp(probes.database),
    ],
    database_ping_seconds: ["Time in which PostgreSQL last answered.", () => seconds(probes.database)],
    redis_up: [
      "1 if Redis answered and accepted writes when it was last asked. Absent without Redis.",
      () => isUp(probes.redis),
    ],
    redis_ping_seconds: ["Time in which Redis last answered.", () => seconds(probes.redis)],
    redis_connected: [
      "1 while this node is connected to Redis. Absent without Redis.",
      () => (redis === null ? null : Number(redis.isConnected)),
    ],
    redis_may_evict: [
      "1 if Redis may evict keys when its memory is full, which lifts rate limits.",
      () => {
        const mayEvict = redisMemory?.mayEvict() ?? null;
        return mayEvict === null ? null : Number(mayEvict);
      },
    ],
  });
  const byPool = (value: (use: PoolUse) => number) => () =>
    new Map([...poolUses()].map(([pool, use]) => [pool, value(use)]));
  metrics.gauges("pool", {
    database_connections_max: ["Connections to PostgreSQL that the pool may open.", byPool(({ max }) => max)],
    database_connections_open: ["Open connections to PostgreSQL.", byPool(({ open }) => open)],
    database_connections_busy: [
      "Connections to PostgreSQL on which a statement or transaction runs.",
      byPool(({ busy }) => busy),
    ],
    database_connections_waiting: [
      "Statements that wait for a connection to PostgreSQL.",
      byPool(({ waiting }) => waiting),
    ],
  });
}

function addNodeMetrics(
  metrics: Metrics,
  { node: { clocks, admissions }, publisher, certificateExpiresAt, catalogProblems, ...parts }: MeasuredParts,
): void {
  metrics.gauges("setting", {
    nodes_with_other_settings: [
      "Other nodes with another value of a setting that all nodes must share: plans, catalog, prices or responses.",
      () => parts.settingsComparison.counts,
    ],
  });
  metrics.counters(null, {
    change_publish_failures: [
      "Changes that were not in force on every node within 4 seconds. They are published later.",
      () => publisher.late,
    ],
  });
  metrics.gauges(null, {
    changes_unpublished: [
      "Committed changes of all nodes that are not in force yet.",
      () => publisher.waiting,
    ],
    tls_certificate_expiry_timestamp_seconds: [
      "Time at which the TLS certificate in use expires. Absent without TLS.",
      () => {
        const at = certificateExpiresAt();
        return at === null ? null : at.getTime() / 1_000;
      },
    ],
    catalog_problems: [
      "Problems of the catalog file. With any the previous catalog stays in use. Absent without a file.",
      catalogProblems,
    ],
    admission_fenced: [
      "1 while this node admits no requests because it uses another Redis server than the other nodes.",
      () => Number(admissions.isApart),
    ],
    clock_skew_seconds: [
      "Clock of this node minus clock of the database. Beyond 300 in either direction the node deletes nothing by age.",
      () => (clocks.skewMs === null ? null : clocks.skewMs / 1_000),
    ],
  });
}

function addRecordMetrics(metrics: Metrics, { recorder, journal, credits, reconciler }: OpenRecords): void {
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
    journal_writable: [
      "1 if the journal can be written. Without it requests are refused.",
      () => Number(journal.isWritable),
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
      "Time of the last reconciliation; before the first, of the start of the node.",
      () => reconciler.checkedAt.getTime() / 1_000,
    ],
  });
}

const BREAKER_VALUES = { closed: 0, "half-open": 1, open: 2 } as const;

function addUpstreamMetrics(metrics: Metrics, gateway: Gateway): void {
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
    upstream_unbilled_tokens: [
      "Tokens of failed requests that the upstream reported and that no account is charged for.",
      byUpstream(({ unbilledTokens }) => unbilledTokens),
    ],
  });
}
