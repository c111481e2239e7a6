import type { MetricsJson } from "../metrics/metrics.ts";
import type { BannerFacts } from "./banner.ts";

/** What a worker sends to the supervisor. */
export type FromWorker =
  /** It serves requests. A worker that drains a folder sends this when it is done. */
  | { readonly kind: "ready"; readonly facts: BannerFacts | null }
  /** It was asked for the metrics of the service. */
  | { readonly kind: "read metrics"; readonly id: number }
  /** Its own metrics. */
  | { readonly kind: "metrics"; readonly id: number; readonly metrics: MetricsJson };

/** What the supervisor sends to a worker. */
export type ToWorker =
  | { readonly kind: "collect metrics"; readonly id: number }
  /** The metrics of all workers, each as it sent them. */
  | { readonly kind: "all metrics"; readonly id: number; readonly all: readonly MetricsJson[] };
