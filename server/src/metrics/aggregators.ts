import type { Aggregator } from "prom-client";

/**
 * Gauges that are not added up over the workers of a service, because each of them measures the same thing, or the worst worker
 * is what matters.
 */
const MAXIMA = new Set([
  "admission_fenced",
  "build_info",
  "catalog_problems",
  "changes_unpublished",
  "clock_skew_seconds",
  "credit_reserved_usd",
  "credit_stuck_usd",
  "database_ping_seconds",
  "event_loop_lag_seconds",
  "nodes_with_other_settings",
  "reconciliation_balance_mismatches",
  "reconciliation_checked_timestamp_seconds",
  "reconciliation_usage_mismatches",
  "recorder_lag_seconds",
  "redis_may_evict",
  "redis_ping_seconds",
  "upstream_breaker_state",
  "upstream_credential_refused",
]);

/** Gauges whose smallest value is the worst. */
const MINIMA = new Set([
  "database_up",
  "journal_writable",
  "redis_connected",
  "redis_up",
  "tls_certificate_expiry_timestamp_seconds",
]);

/** Returns how the values of workers become one, by the name of the metric without the prefix `ostiary_`. */
export function aggregatorOf(name: string): Aggregator {
  if (MINIMA.has(name)) return "min";
  return MAXIMA.has(name) ? "max" : "sum";
}
