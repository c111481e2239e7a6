import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AuditEntry } from "../audit/entry.ts";

const NANO_USD_IN_USD = 1e9;
/** From a cached refusal to a long answer. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What the node measures, in the form that Prometheus reads (text format 0.0.4). */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"endpoint" | "model" | "status" | "end_reason">;
  readonly #seconds: Histogram<"endpoint">;
  readonly #firstToken: Histogram<"model">;
  readonly #tokens: Counter<"model" | "kind">;
  readonly #cost: Counter<"model">;
  readonly #isModel: (id: string) => boolean;

  /** `isModel`: whether the catalog has a model. What clients make up must not make a series each. */
  constructor(isModel: (id: string) => boolean) {
    this.#isModel = isModel;
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: "ostiary_requests_total",
      help: "Requests with a known key that have ended.",
      labelNames: ["endpoint", "model", "status", "end_reason"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "ostiary_request_seconds",
      help: "From a request's arrival to the end of its answer.",
      labelNames: ["endpoint"],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#firstToken = new Histogram({
      name: "ostiary_time_to_first_token_seconds",
      help: "From a request's arrival to the first of its answer.",
      labelNames: ["model"],
      buckets: FIRST_TOKEN_SECONDS,
      registers,
    });
    this.#tokens = new Counter({
      name: "ostiary_tokens_total",
      help: "Tokens of requests that have ended; cached ones are part of the prompts'.",
      labelNames: ["model", "kind"],
      registers,
    });
    this.#cost = new Counter({
      name: "ostiary_cost_usd_total",
      help: "What requests that have ended were charged, in US dollars.",
      labelNames: ["model"],
      registers,
    });
    collectDefaultMetrics({ register: this.#registry });
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

  /** To be told of each request that has ended. */
  ended(entry: AuditEntry): void {
    const { status, endReason: end_reason, promptTokens, completionTokens, cachedTokens } = entry;
    const model = entry.model === null ? "" : this.#isModel(entry.model) ? entry.model : "unknown";
    const endpoint = entry.endpoint.includes("/trpc/") ? "/trpc" : entry.endpoint;
    this.#requests.inc({ endpoint, model, status, end_reason });
    this.#seconds.observe({ endpoint }, entry.latencyMs / 1_000);
    if (entry.timeToFirstTokenMs !== null) {
      this.#firstToken.observe({ model }, entry.timeToFirstTokenMs / 1_000);
    }
    if (promptTokens !== null && promptTokens > 0) this.#tokens.inc({ model, kind: "prompt" }, promptTokens);
    if (completionTokens !== null && completionTokens > 0) {
      this.#tokens.inc({ model, kind: "completion" }, completionTokens);
    }
    if (cachedTokens !== null && cachedTokens > 0) this.#tokens.inc({ model, kind: "cached" }, cachedTokens);
    if (entry.costNanoUsd > 0n) this.#cost.inc({ model }, Number(entry.costNanoUsd) / NANO_USD_IN_USD);
  }

  /** All of it as text, and its media type. */
  async read(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }
}
