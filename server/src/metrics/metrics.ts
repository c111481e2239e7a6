import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AuditEntry } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { aggregatorOf } from "./aggregators.ts";

/** How many nano-USD are a US dollar. */
export const NANO_USD_IN_USD = 1e9;
/** From a cached refusal to a long answer. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A change that takes longer than 4 seconds is answered with a failure, and published later. */
const PUBLISH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];
/** Gauges of prom-client whose names end as only those of counters may. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

const REQUEST_LABELS = ["endpoint", "model", "status", "end_reason"] as const;

/** The requests with the same labels, and their sums. */
interface Totals {
  readonly endpoint: string;
  readonly model: string;
  readonly status: number;
  readonly end_reason: string;
  requests: number;
  prompt: number;
  completion: number;
  cached: number;
  nanoUsd: number;
}

/**
 * Metrics by name, without the prefix `ostiary_`: the help text, and a function that returns the value at each scrape. The series
 * of `null` is absent. A map has a series for each value of a label.
 */
type ReadMetrics = Readonly<
  Record<string, readonly [help: string, read: () => number | null | ReadonlyMap<string, number>]>
>;

/** The metrics of a process, as it sends them to another one. */
export type MetricsJson = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;

/** Adds up the metrics of several processes. */
export function addedUp(metrics: readonly MetricsJson[]): Registry {
  return AggregatorRegistry.aggregate([...metrics]);
}

/** The metrics of this node, in Prometheus' text format 0.0.4. */
export class Metrics {
  readonly #registry = new Registry();
  /** Completed requests that have the same labels. They are handed to prom-client at a scrape: to count each request there takes 4 µs of CPU more. */
  readonly #totals = new Map<string, Totals>();
  readonly #seconds = new Histogram({
    name: "ostiary_request_duration_seconds",
    help: "Time from the arrival of a request to the end of its answer.",
    labelNames: ["endpoint"],
    buckets: REQUEST_SECONDS,
    registers: [this.#registry],
  });
  readonly #firstToken = new Histogram({
    name: "ostiary_time_to_first_token_seconds",
    help: "Time from the arrival of a request to the first byte of its answer.",
    labelNames: ["model"],
    buckets: FIRST_TOKEN_SECONDS,
    registers: [this.#registry],
  });
  readonly #uncollected = new Counter({
    name: "ostiary_uncollected_usd_total",
    help: "Cost that accounts did not pay, in US dollars. `operator reconcile` sums it up for all nodes.",
    labelNames: ["reason"],
    registers: [this.#registry],
  });
  readonly #published = new Histogram({
    name: "ostiary_change_publish_duration_seconds",
    help: "Time from the commit of a change, such as a revocation, to its being in force on every node.",
    buckets: PUBLISH_SECONDS,
    registers: [this.#registry],
  });
  readonly #endpoints = new Set<string>();
  /** Returns the metrics of all workers, this one included; `null` in a service of one process. */
  #readAll: (() => Promise<readonly MetricsJson[]>) | null = null;
  readonly #isModel: (id: string) => boolean;

  /**
   * `isModel` tells whether the catalog has a model. Unknown names share one series, so that clients cannot create series.
   * `build` describes the process.
   */
  constructor(
    isModel: (id: string) => boolean,
    build: { readonly version: string; readonly runtime: string },
  ) {
    this.#isModel = isModel;
    new Gauge({
      name: "ostiary_build_info",
      help: "1, with the version of the service and the runtime as labels.",
      labelNames: ["version", "runtime"],
      aggregator: aggregatorOf("build_info"),
      registers: [this.#registry],
    }).set(build, 1);
    // Every series exists from the start, so that alerts on an increase see the first one.
    for (const reason of ["beyond_hold", "released", "repeated", "implausible"] as const) {
      this.#uncollected.inc({ reason }, 0);
    }
    this.#sums("requests", "Completed requests with a known key.", REQUEST_LABELS, (counter, totals) => {
      const { endpoint, model, status, end_reason } = totals;
      counter.inc({ endpoint, model, status, end_reason }, totals.requests);
    });
    const tokens = "Tokens of completed requests. Cached tokens are included in prompt tokens.";
    this.#sums("tokens", tokens, ["model", "kind"], (counter, { model, prompt, completion, cached }) => {
      for (const [kind, count] of Object.entries({ prompt, completion, cached })) {
        if (count > 0) counter.inc({ model, kind }, count);
      }
    });
    this.#sums("cost_usd", "Cost of completed requests in US dollars.", ["model"], (counter, totals) => {
      const { model, nanoUsd } = totals;
      if (nanoUsd > 0) counter.inc({ model }, nanoUsd / NANO_USD_IN_USD);
    });
    collectDefaultMetrics({ register: this.#registry });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
  }

  /** Registers the endpoints that are served. All other endpoints share one series. */
  serves(endpoints: readonly string[]): void {
    for (const endpoint of endpoints) this.#endpoints.add(endpoint);
  }

  /** Counts an amount that an account did not pay. */
  uncollected({ reason, amountNanoUsd }: Uncollected): void {
    this.#uncollected.inc({ reason }, Number(amountNanoUsd) / NANO_USD_IN_USD);
  }

  /** Measures how long a change took from its commit to its being in force on every node. */
  published(seconds: number): void {
    this.#published.observe(seconds);
  }

  /** Adds gauges, with this label or without one. */
  gauges(label: string | null, gauges: ReadMetrics): void {
    this.#add(Gauge, "", label, gauges);
  }

  /** Adds counters whose totals are kept elsewhere. */
  counters(label: string | null, counters: ReadMetrics): void {
    this.#add(Counter, "_total", label, counters);
  }

  /** Counts a completed request. */
  ended(entry: AuditEntry): void {
    const { timeToFirstTokenMs } = entry;
    const model = this.#labelOfModel(entry.model);
    const endpoint = this.#labelOfEndpoint(entry.endpoint);
    const totals = this.#totalsOf(endpoint, model, entry);
    totals.requests++;
    totals.prompt += entry.promptTokens ?? 0;
    totals.completion += entry.completionTokens ?? 0;
    totals.cached += entry.cachedTokens ?? 0;
    totals.nanoUsd += Number(entry.costNanoUsd);
    this.#seconds.observe({ endpoint }, entry.latencyMs / 1_000);
    if (timeToFirstTokenMs !== null) this.#firstToken.observe({ model }, timeToFirstTokenMs / 1_000);
  }

  /** Makes {@link read} add up what the function returns. */
  addUp(readAll: () => Promise<readonly MetricsJson[]>): void {
    this.#readAll = readAll;
  }

  /** The metrics of this process alone. */
  json(): Promise<MetricsJson> {
    return this.#registry.getMetricsAsJSON();
  }

  /** All metrics as text, with the media type. @throws {Unavailable} when the other workers can't be asked. */
  async read(): Promise<{ readonly text: string; readonly type: string }> {
    const registry = this.#readAll === null ? this.#registry : addedUp(await this.#readAll());
    return { text: await registry.metrics(), type: this.#registry.contentType };
  }

  #labelOfModel(model: string | null): string {
    if (model === null) return "";
    return this.#isModel(model) ? model : "unknown";
  }

  #labelOfEndpoint(endpoint: string): string {
    if (this.#endpoints.has(endpoint)) return endpoint;
    return endpoint.includes("/trpc/") ? "/trpc" : "unknown";
  }

  #totalsOf(endpoint: string, model: string, { status, endReason: end_reason }: AuditEntry): Totals {
    const labels = `${endpoint}\n${model}\n${status}\n${end_reason}`;
    let totals = this.#totals.get(labels);
    if (totals === undefined) {
      const none = { requests: 0, prompt: 0, completion: 0, cached: 0, nanoUsd: 0 };
      totals = { endpoint, model, status, end_reason, ...none };
      this.#totals.set(labels, totals);
    }
    return totals;
  }

  /** Adds a counter that is filled from the totals at each scrape. */
  #sums<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    add: (counter: Counter<Label>, totals: Totals) => void,
  ): void {
    const counter: Counter<Label> = new Counter({
      name: `ostiary_${name}_total`,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        for (const totals of this.#totals.values()) add(counter, totals);
      },
    });
  }

  #add(
    Kind: typeof Gauge | typeof Counter,
    suffix: string,
    label: string | null,
    metrics: ReadMetrics,
  ): void {
    for (const [name, [help, read]] of Object.entries(metrics)) {
      const metric = new Kind({
        name: `ostiary_${name}${suffix}`,
        help,
        labelNames: label === null ? [] : [label],
        aggregator: aggregatorOf(name),
        registers: [this.#registry],
        collect: () => {
          const value = read();
          metric.reset();
          if (value === null) metric.remove();
          else if (typeof value === "number") metric.inc(value);
          else for (const [of, count] of value) metric.inc({ [label ?? ""]: of }, count);
        },
      });
    }
  }
}
