import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { AuditEntry, EndReason } from "../audit/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { SecondsHistogram } from "./seconds-histogram.ts";

const NANO_USD_IN_USD = 1e9;
/** From a cached refusal to a long answer. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What the node measures, in the form that Prometheus reads (text format 0.0.4). */
export class Metrics {
  readonly #registry = new Registry();
  readonly #seconds: SecondsHistogram<"endpoint">;
  readonly #firstToken: SecondsHistogram<"model">;
  /** Of requests, by endpoint and model; and of models. Counted here, and told to prom-client when it is asked. */
  readonly #outcomes = new Map<string, Map<string, Outcome[]>>();
  readonly #spent = new Map<string, Spent>();
  /** Nano-USD by reason. Each is there from the beginning, so that alarms on its rise see the first. */
  readonly #uncollected = new Map<Uncollected["reason"], number>(
    (["beyond_hold", "released", "repeated", "implausible"] as const).map((reason) => [reason, 0]),
  );
  readonly #endpoints = new Set<string>();
  readonly #isModel: (id: string) => boolean;

  /** `isModel`: whether the catalog has a model. What clients make up must not make a series each. */
  constructor(isModel: (id: string) => boolean) {
    this.#isModel = isModel;
    const registers = [this.#registry];
    const requests = new Counter({
      name: "ostiary_requests_total",
      help: "Requests with a known key that have ended.",
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
      name: "ostiary_request_seconds",
      help: "From a request's arrival to the end of its answer.",
      label: "endpoint",
      bounds: REQUEST_SECONDS,
      registry: this.#registry,
    });
    this.#firstToken = new SecondsHistogram({
      name: "ostiary_time_to_first_token_seconds",
      help: "From a request's arrival to the first of its answer.",
      label: "model",
      bounds: FIRST_TOKEN_SECONDS,
      registry: this.#registry,
    });
    const tokens = new Counter({
      name: "ostiary_tokens_total",
      help: "Tokens of requests that have ended; cached ones are part of the prompts'.",
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
      help: "What requests that have ended were charged, in US dollars.",
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
      help: "What requests cost and accounts did not pay, in US dollars. `operator check-books` adds it up for all nodes.",
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

  /** To be told what entries name requests by that are served. What clients ask for beside them counts as one endpoint. */
  serves(endpoints: readonly string[]): void {
    for (const endpoint of endpoints) this.#endpoints.add(endpoint);
  }

  /** To be told of what an account did not pay. */
  uncollected({ reason, amountNanoUsd }: Uncollected): void {
    this.#uncollected.set(reason, (this.#uncollected.get(reason) ?? 0) + Number(amountNanoUsd));
  }

  /** A value that is asked for whenever it is read; `null` while it is not known. */
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

  /** The same, of several things at once, by a label. */
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

  /** Something that is only ever added to, kept elsewhere. */
  counter(name: string, help: string, read: () => number): void {
    let told = 0;
    const counter = new Counter({
      name: `ostiary_${name}_total`,
      help,
      registers: [this.#registry],
      collect: () => {
        const total = read();
        counter.inc(Math.max(0, total - told));
        told = total;
      },
    });
  }

  /** The same, of several things at once, by a label. Each is there from the beginning. */
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

  /** To be told of each request that has ended. */
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
    // A handful.
    let outcome = outcomes.find((known) => known.status === status && known.endReason === endReason);
    if (outcome === undefined) {
      outcome = { status, endReason, count: 0 };
      outcomes.push(outcome);
    }
    return outcome;
  }

  /** All of it as text, and its media type. */
  async read(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }
}

/** How some requests have ended, and how many of them. */
interface Outcome {
  readonly status: number;
  readonly endReason: EndReason;
  count: number;
}

/** What the requests of a model have taken in all. */
interface Spent {
  prompt: number;
  completion: number;
  cached: number;
  nanoUsd: number;
}
