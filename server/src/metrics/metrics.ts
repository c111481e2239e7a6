import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { AuditEntry, EndReason } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { SecondsHistogram } from "./seconds-histogram.ts";

const NANO_USD_IN_USD = 1e9;
/** From a cached refusal to a long answer. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The metrics of this node, in Prometheus' text format 0.0.4. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #seconds: SecondsHistogram<"endpoint">;
  readonly #firstToken: SecondsHistogram<"model">;
  /** Requests by endpoint and model, and totals by model. Counted here and passed to prom-client at each scrape. */
  readonly #outcomes = new Map<string, Map<string, Outcome[]>>();
  readonly #spent = new Map<string, Spent>();
  /** Nano-USD by reason. Every series exists from the start, so that alerts on an increase see the first one. */
  readonly #uncollected = new Map<Uncollected["reason"], number>(
    (["beyond_hold", "released", "repeated", "implausible"] as const).map((reason) => [reason, 0]),
  );
  readonly #endpoints = new Set<string>();
  readonly #isModel: (id: string) => boolean;

  /** `isModel` tells whether the catalog has a model. Unknown names share one series, so that clients cannot create series. */
  constructor(isModel: (id: string) => boolean) {
    this.#isModel = isModel;
    const registers = [this.#registry];
    const requests = new Counter({
      name: "ostiary_requests_total",
      help: "Completed requests with a known key.",
      labelNames: ["endpoint", "model", "status", "end_reason"],
      registers,
      collect: () => {
        requests.reset();
        for (const [endpoint, ofModels] of this.#outcomes) {
          for (const [model, outcomes] of ofModels) {
            for (const { status, endReason: end_reason, count } of outcomes)
              requests.inc({ endpoint, model, status, end_reason }, count);
          }
        }
      },
    });
    this.#seconds = new SecondsHistogram({
      name: "ostiary_request_duration_seconds",
      help: "Time from the arrival of a request to the end of its answer.",
      label: "endpoint",
      bounds: REQUEST_SECONDS,
      registry: this.#registry,
    });
    this.#firstToken = new SecondsHistogram({
      name: "ostiary_time_to_first_token_seconds",
      help: "Time from the arrival of a request to the first byte of its answer.",
      label: "model",
      bounds: FIRST_TOKEN_SECONDS,
      registry: this.#registry,
    });
    const tokens = new Counter({
      name: "ostiary_tokens_total",
      help: "Tokens of completed requests. Cached tokens are included in prompt tokens.",
      labelNames: ["model", "kind"],
      registers,
      collect: () => {
        tokens.reset();
        for (const [model, { prompt, completion, cached }] of this.#spent) {
          for (const [kind, count] of Object.entries({ prompt, completion, cached })) {
            if (count > 0) tokens.inc({ model, kind }, count);
          }
        }
      },
    });
    const cost = new Counter({
      name: "ostiary_cost_usd_total",
      help: "Cost of completed requests in US dollars.",
      labelNames: ["model"],
      registers,
      collect: () => {
        cost.reset();
        for (const [model, { nanoUsd }] of this.#spent) {
          if (nanoUsd > 0) cost.inc({ model }, nanoUsd / NANO_USD_IN_USD);
        }
      },
    });
    const uncollected = new Counter({
      name: "ostiary_uncollected_usd_total",
      help: "Cost that accounts did not pay, in US dollars. `operator reconcile` sums it up for all nodes.",
      labelNames: ["reason"],
      registers,
      collect: () => {
        uncollected.reset();
        for (const [reason, nanoUsd] of this.#uncollected)
          uncollected.inc({ reason }, nanoUsd / NANO_USD_IN_USD);
      },
    });
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Registers the endpoints that are served. All other endpoints share one series. */
  serves(endpoints: readonly string[]): void {
    for (const endpoint of endpoints) this.#endpoints.add(endpoint);
  }

  /** Counts an amount that an account did not pay. */
  uncollected({ reason, amountNanoUsd }: Uncollected): void {
    this.#uncollected.set(reason, (this.#uncollected.get(reason) ?? 0) + Number(amountNanoUsd));
  }

  /** Adds a gauge whose value is read at each scrape. The series is absent while `read` returns `null`. */
  gauge(name: string, help: string, read: () => number | null): void {
    const gauge = new Gauge({
      name: `ostiary_${name}`,
      help,
      registers: [this.#registry],
      collect: () => {
        const value = read();
        if (value === null) gauge.remove();
        else gauge.set(value);
      },
    });
  }

  /** Adds a gauge with one series for each value of a label. */
  gauges(name: string, help: string, label: string, read: () => ReadonlyMap<string, number>): void {
    const gauge = new Gauge({
      name: `ostiary_${name}`,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const [of, value] of read()) gauge.set({ [label]: of }, value);
      },
    });
  }

  /** Adds a counter whose total is kept elsewhere and read at each scrape. */
  counter(name: string, help: string, read: () => number): void {
    let reported = 0;
    const counter = new Counter({
      name: `ostiary_${name}_total`,
      help,
      registers: [this.#registry],
      collect: () => {
        const total = read();
        counter.inc(Math.max(0, total - reported));
        reported = total;
      },
    });
  }

  /** Adds a counter with one series for each value of a label. Every series exists from the start. */
  counters(name: string, help: string, label: string, read: () => ReadonlyMap<string, number>): void {
    const counter = new Counter({
      name: `ostiary_${name}_total`,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        for (const [of, count] of read()) counter.inc({ [label]: of }, count);
      },
    });
  }

  /** Counts a completed request. */
  ended(entry: AuditEntry): void {
    const model = entry.model === null ? "" : this.#isModel(entry.model) ? entry.model : "unknown";
    const endpoint = this.#labelOf(entry.endpoint);
    this.#outcomeOf(endpoint, model, entry).count++;
    this.#seconds.count(endpoint, entry.latencyMs / 1_000);
    if (entry.timeToFirstTokenMs !== null) this.#firstToken.count(model, entry.timeToFirstTokenMs / 1_000);
    let spent = this.#spent.get(model);
    if (spent === undefined) {
      spent = { prompt: 0, completion: 0, cached: 0, nanoUsd: 0 };
      this.#spent.set(model, spent);
    }
    spent.prompt += entry.promptTokens ?? 0;
    spent.completion += entry.completionTokens ?? 0;
    spent.cached += entry.cachedTokens ?? 0;
    spent.nanoUsd += Number(entry.costNanoUsd);
  }

  #labelOf(endpoint: string): string {
    if (this.#endpoints.has(endpoint)) return endpoint;
    return endpoint.includes("/trpc/") ? "/trpc" : "unknown";
  }

  #outcomeOf(endpoint: string, model: string, { status, endReason }: AuditEntry): Outcome {
    let ofModels = this.#outcomes.get(endpoint);
    if (ofModels === undefined) {
      ofModels = new Map();
      this.#outcomes.set(endpoint, ofModels);
    }
    let outcomes = ofModels.get(model);
    if (outcomes === undefined) {
      outcomes = [];
      ofModels.set(model, outcomes);
    }
    // The list has only a few elements.
    let outcome = outcomes.find((known) => known.status === status && known.endReason === endReason);
    if (outcome === undefined) {
      outcome = { status, endReason, count: 0 };
      outcomes.push(outcome);
    }
    return outcome;
  }

  /** All metrics as text, with the media type. */
  async read(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }
}

/** The number of requests that ended with a status and reason. */
interface Outcome {
  readonly status: number;
  readonly endReason: EndReason;
  count: number;
}

/** Totals over the requests of a model. */
interface Spent {
  prompt: number;
  completion: number;
  cached: number;
  nanoUsd: number;
}
