import type { BodyBudget } from "../admission/body-budget.ts";
import type { FencedAdmissionStore } from "../admission/fenced-store.ts";
import type { Journal } from "../audit/journal.ts";
import type { Reads } from "../audit/reads.ts";
import type { Recorder } from "../audit/recorder.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Books } from "../credits/books.ts";
import type { Credits } from "../credits/credits.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { UpstreamHealth } from "../gateway/upstream-health.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Overload } from "../request/overload.ts";
import type { RequestHandler } from "../request/request-handler.ts";
import type { Clocks } from "./clocks.ts";
import type { RedisMemoryWatch } from "./redis-memory.ts";

const NANO_USD_IN_USD = 1e9;

export interface MeasuredParts {
  readonly recorder: Recorder;
  readonly journal: Journal;
  readonly credits: Credits;
  readonly books: Books;
  readonly requests: RequestHandler;
  readonly bodies: BodyBudget;
  readonly overload: Overload;
  readonly gateway: Gateway;
  readonly admission: FencedAdmissionStore;
  /** `null` where there is no Redis. */
  readonly redisMemory: RedisMemoryWatch | null;
  readonly clocks: Clocks;
  readonly callLimits: { readonly refused: ReadonlyMap<string, number> };
  readonly reads: Reads;
}

/** What is measured of requests; the rest is added by {@link measure} once it is there. */
export function openMetrics(catalog: Catalog): Metrics {
  return new Metrics((id) => catalog.find(id) !== null);
}

/** Adds what the parts of the node tell of themselves. */
export function measure(
  metrics: Metrics,
  {
    recorder,
    journal,
    credits,
    books,
    requests,
    bodies,
    overload,
    gateway,
    clocks,
    admission,
    redisMemory,
    callLimits,
    reads,
  }: MeasuredParts,
): void {
  metrics.counters(
    "reads_refused",
    "Reads of the audit log and of usage that were refused: too many of one reader at once, or its time was spent.",
    "reason",
    () => reads.refused,
  );
  metrics.gauge(
    "reads_waiting",
    "Reads of the audit log and of usage that wait for their turn.",
    () => reads.waiting,
  );
  metrics.counters(
    "procedure_calls_refused",
    "Calls of procedures beyond what there may be a minute: of their caller, or to auth.* of their address.",
    "reason",
    () => callLimits.refused,
  );
  metrics.gauge("requests_in_flight", "Requests under /v1 that are being answered.", () => requests.inFlight);
  metrics.serves(requests.operationNames);
  metrics.counter(
    "unknown_key_requests",
    "Requests under /v1 that were refused and showed no key that is or was somebody's. They stand in no account's log.",
    () => requests.withoutKnownKey,
  );
  metrics.gauge(
    "event_loop_lag_seconds",
    "How late the event loop is; requests are turned away when it is too late.",
    () => overload.lagMs / 1_000,
  );
  metrics.counter(
    "shed_requests",
    "Requests that were turned away because the process was late.",
    () => overload.shed,
  );
  metrics.gauge(
    "request_body_bytes",
    "Bytes of request bodies that are being received, or wait to be admitted.",
    () => bodies.bytes,
  );
  metrics.counters(
    "request_bodies_refused",
    "Request bodies that were refused before they were whole, by the reason.",
    "reason",
    () => bodies.refused,
  );
  measureUpstreams(metrics, gateway);
  metrics.gauge(
    "admission_fenced",
    "1: this node keeps itself from admitting requests, as other nodes may not hear of its changes, nor it of theirs.",
    () => (admission.isFenced ? 1 : 0),
  );
  metrics.gauge(
    "redis_may_evict",
    "1: Redis may drop counts of limits when its memory is full, and lift limits so.",
    () => (redisMemory === null || redisMemory.mayEvict === null ? null : Number(redisMemory.mayEvict)),
  );
  metrics.gauge(
    "clock_skew_seconds",
    "How far this node's clock is ahead of the database's. Beyond 300 either way nothing is deleted for its age.",
    () => (clocks.skewMs === null ? null : clocks.skewMs / 1_000),
  );
  metrics.gauge(
    "recorder_waiting_entries",
    "Audit entries in the journal that are not in the database yet.",
    () => recorder.backlog().entries,
  );
  metrics.gauge(
    "recorder_lag_seconds",
    "For how long the oldest of them has waited.",
    () => recorder.backlog().oldestMs / 1_000,
  );
  metrics.counter(
    "recorder_failures",
    "Batches of audit entries that the database did not take.",
    () => recorder.backlog().failures,
  );
  metrics.gauge(
    "journal_segments",
    "Files of the journal that are still needed.",
    () => recorder.backlog().segments,
  );
  metrics.gauge(
    "journal_rejected_lines",
    "Lines of the journal that are set aside because they could not be read or recorded. Anything but 0 wants an operator.",
    () => journal.rejectedLines(),
  );
  metrics.gauge(
    "credit_holds",
    "Requests that credit is held for on this node.",
    () => credits.outstanding().holds,
  );
  metrics.gauge(
    "credit_held_usd",
    "Credit that is held for them.",
    () => Number(credits.outstanding().nanoUsd) / NANO_USD_IN_USD,
  );
  metrics.gauge(
    "credit_reserved_usd",
    "Credit that all nodes have set aside, by the last check of the books.",
    () => (books.last === null ? null : Number(books.last.reserved.nanoUsd) / NANO_USD_IN_USD),
  );
  metrics.gauge(
    "credit_stuck_usd",
    "Of it, what nodes have set aside that have not been seen for a minute, by the last check of the books.",
    () => (books.last === null ? null : Number(books.last.reserved.stuckNanoUsd) / NANO_USD_IN_USD),
  );
  metrics.gauge(
    "books_balance_mismatches",
    "Accounts whose balance is not the sum of their ledger or is negative, by the last check. Anything but 0 is a fault.",
    () => books.last?.mismatches.length ?? null,
  );
  metrics.gauge(
    "books_usage_mismatches",
    "Sums of usage that are not those of the entries, by the last check. Anything but 0 is a fault.",
    () => books.last?.usageMismatches.length ?? null,
  );
  metrics.gauge("books_checked_timestamp_seconds", "When the books were last checked.", () =>
    books.last === null ? null : books.last.checkedAt.getTime() / 1_000,
  );
}

const BREAKER_VALUES = { closed: 0, "half-open": 1, open: 2 } as const;

function measureUpstreams(metrics: Metrics, gateway: Gateway): void {
  const told: Readonly<Record<string, readonly [string, (health: UpstreamHealth) => number]>> = {
    upstream_breaker: ["0: closed, 1: half-open, 2: open.", ({ breaker }) => BREAKER_VALUES[breaker]],
    upstream_in_flight: ["Requests that an upstream is answering.", ({ inFlight }) => inFlight],
    upstream_queue: ["Requests that wait for a place at an upstream.", ({ waiting }) => waiting],
    upstream_answers: ["Requests that an upstream has answered.", ({ successes }) => successes],
    upstream_failures: ["Requests that an upstream has failed.", ({ failures }) => failures],
    upstream_credential_refused: [
      "1: it refuses our credential, and an operator has to see to it.",
      ({ credentialRefusedAt }) => (credentialRefusedAt === null ? 0 : 1),
    ],
  };
  for (const [name, [help, value]] of Object.entries(told)) {
    metrics.gauges(
      name,
      help,
      "upstream",
      () => new Map(gateway.health().map((health) => [health.name, value(health)])),
    );
  }
}
