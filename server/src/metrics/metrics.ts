import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AuditEntry } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";

const NANO_USD_IN_USD = 1e9;
/** From a cached refusal to a long answer. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Metrics by name, without the prefix `ostiary_`: the help text, and a function that returns the value at each scrape. */
export type ReadMetrics<Value> = Readonly<Record<string, readonly [help: string, read: () => Value]>>;

/** The metrics of this node, in Prometheus' text format 0.0.4. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter("requests", "Completed requests with a known key.", [
    "endpoint",
    "model",
    "status",
    "end_reason",
  ]);
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
  readonly #tokens = this.#counter(
    "tokens",
    "Tokens of completed requests. Cached tokens are included in prompt tokens.",
    ["model", "kind"],
  );
  readonly #cost = this.#counter("cost_usd", "Cost of completed requests in US dollars.", ["model"]);
  readonly #uncollected = this.#counter(
    "uncollected_usd",
    "Cost that accounts did not pay, in US dollars. `operator reconcile` sums it up for all nodes.",
    ["reason"],
  );
  readonly #endpoints = new Set<string>();
  readonly #isModel: (id: string) => boolean;

  /** `isModel` tells whether the catalog has a model. Unknown names share one series, so that clients cannot create series. */
  constructor(isModel: (id: string) => boolean) {
    this.#isModel = isModel;
    // Every series exists from the start, so that alerts on an increase see the first one.
    for (const reason of ["beyond_hold", "released", "repeated", "implausible"] as const) {
      this.#uncollected.inc({ reason }, 0);
    }
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Registers the endpoints that are served. All other endpoints share one series. */
  serves(endpoints: readonly string[]): void {
    for (const endpoint of endpoints) this.#endpoints.add(endpoint);
  }

  /** Counts an amount that an account did not pay. */
  uncollected({ reason, amountNanoUsd }: Uncollected): void {
    this.#uncollected.inc({ reason }, Number(amountNanoUsd) / NANO_USD_IN_USD);
  }

  /** Adds gauges. The series of a gauge is absent while its value is `null`. */
  gauges(gauges: ReadMetrics<number | null>): void {
    for (const [name, [help, read]] of Object.entries(gauges)) {
      const gauge = this.#gauge(name, help, [], () => {
        const value = read();
        if (value === null) gauge.remove();
        else gauge.set(value);
      });
    }
  }

  /** Adds gauges with one series for each value of a label. */
  gaugesBy(label: string, gauges: ReadMetrics<ReadonlyMap<string, number>>): void {
    for (const [name, [help, read]] of Object.entries(gauges)) {
      const gauge = this.#gauge(name, help, [label], () => {
        gauge.reset();
        for (const [of, value] of read()) gauge.set({ [label]: of }, value);
      });
    }
  }

  /** Adds counters whose totals are kept elsewhere. */
  counters(counters: ReadMetrics<number>): void {
    for (const [name, [help, read]] of Object.entries(counters)) {
      const counter = this.#counter(name, help, [], () => {
        counter.reset();
        counter.inc(read());
      });
    }
  }

  /** Adds counters with one series for each value of a label. Every series exists from the start. */
  countersBy(label: string, counters: ReadMetrics<ReadonlyMap<string, number>>): void {
    for (const [name, [help, read]] of Object.entries(counters)) {
      const counter = this.#counter(name, help, [label], () => {
        counter.reset();
        for (const [of, count] of read()) counter.inc({ [label]: of }, count);
      });
    }
  }

  /** Counts a completed request. */
  ended(entry: AuditEntry): void {
    const { status, endReason: end_reason, timeToFirstTokenMs } = entry;
    const model = entry.model === null ? "" : this.#isModel(entry.model) ? entry.model : "unknown";
    const endpoint = this.#labelOf(entry.endpoint);
    this.#requests.inc({ endpoint, model, status, end_reason });
    this.#seconds.observe({ endpoint }, entry.latencyMs / 1_000);
    if (timeToFirstTokenMs !== null) this.#firstToken.observe({ model }, timeToFirstTokenMs / 1_000);
    this.#countTokens(model, "prompt", entry.promptTokens);
    this.#countTokens(model, "completion", entry.completionTokens);
    this.#countTokens(model, "cached", entry.cachedTokens);
    if (entry.costNanoUsd > 0n) this.#cost.inc({ model }, Number(entry.costNanoUsd) / NANO_USD_IN_USD);
  }

  /** All metrics as text, with the media type. */
  async read(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }

  #labelOf(endpoint: string): string {
    if (this.#endpoints.has(endpoint)) return endpoint;
    return endpoint.includes("/trpc/") ? "/trpc" : "unknown";
  }

  #countTokens(model: string, kind: string, count: number | null): void {
    if (count !== null && count > 0) this.#tokens.inc({ model, kind }, count);
  }

  #gauge(name: string, help: string, labelNames: string[], collect: () => void): Gauge {
    return new Gauge({ name: `ostiary_${name}`, help, labelNames, registers: [this.#registry], collect });
  }

  #counter(name: string, help: string, labelNames: string[], collect: () => void = () => {}): Counter {
    const registers = [this.#registry];
    return new Counter({ name: `ostiary_${name}_total`, help, labelNames, registers, collect });
  }
}
