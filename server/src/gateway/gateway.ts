import type { Catalog, CatalogModel, Route, Upstream } from "../catalog/catalog.ts";
import { Failure } from "../errors/failure.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { ChatAnswer, Dialect, WholeAnswer } from "../upstream/dialect.ts";
import type { RequestSignal } from "../upstream/request-signal.ts";
import { TransportError } from "../upstream/transport.ts";
import { primedStream } from "./primed-stream.ts";
import { RetryBudget } from "./retry-budget.ts";
import { shuffleByWeight } from "./route-order.ts";
import { type UpstreamHealth, UpstreamState } from "./upstream-health.ts";
import { type Verdict, verdictOf } from "./verdict.ts";
import { cutCredential, errorWithoutCredential } from "./without-credential.ts";

/** A request for a model, in OpenAI's format. */
export interface ModelRequest {
  readonly model: CatalogModel;
  readonly body: JsonBody;
  /** Aborted when the client has disconnected. */
  readonly signal: RequestSignal;
}

export interface ChatRequest extends ModelRequest {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** How long an answer is paid for; `null`: it costs nothing. */
  readonly maxTokens: number | null;
}

/** An upstream's answer. The first event of a stream has arrived. */
export interface Routed<Answer> {
  readonly answer: Answer;
  /** The name of the upstream that answered. */
  readonly upstream: string;
}

/** No route led to an answer. */
export class RoutesFailed extends Error {
  override readonly name = "RoutesFailed";
  /** The upstream of the last route; `null` if none was tried. */
  readonly upstream: string | null;
  readonly reason: unknown;

  constructor(upstream: string | null, reason: unknown) {
    super(`no answer from upstream ${upstream}`, { cause: reason });
    this.upstream = upstream;
    this.reason = reason;
  }
}

export interface GatewayParts {
  readonly catalog: Catalog;
  /** By name. */
  readonly dialects: ReadonlyMap<string, Dialect>;
  readonly random: () => number;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** Called when an upstream refuses the service's credential. Its requests fail until an operator corrects it. */
  readonly onCredentialRefused: (upstream: string) => void;
}

/** How a kind of request is sent through a dialect. */
interface ModelCall<Answer> {
  send(dialect: Dialect, upstream: Upstream, route: Route): Promise<Answer>;
  /** Waits for the first event of a stream. Calls `ended` when the answer has ended. */
  begin(answer: Answer, upstream: Upstream, ended: (reason: unknown) => void): Answer | Promise<Answer>;
}

/** Sends requests to upstreams. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #states = new Map<string, UpstreamState>();
  /** The states of the current catalog's upstreams, found without building a key. */
  readonly #stateOfSame = new WeakMap<Upstream, UpstreamState>();
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /**
   * Tries the model's routes one after the other until one answers. It tries the next one only while nothing has reached the
   * client, and only after a failure that is retryable.
   *
   * @throws {Failure} the request can't be expressed in the upstream's dialect.
   * @throws {RoutesFailed} with what the last route threw.
   */
  chat({ model, body, signal, stream, includeUsage, maxTokens }: ChatRequest): Promise<Routed<ChatAnswer>> {
    return this.#route<ChatAnswer>(model, signal, {
      send: (dialect, upstream, route) => {
        const upstreamModel = route.model;
        return dialect.chat({
          upstream,
          upstreamModel,
          publicModel: model.id,
          body,
          signal,
          stream,
          includeUsage,
          maxTokens,
        });
      },
      begin: (answer, upstream, ended) => {
        if (answer.kind === "whole") return wholeAnswer(answer, upstream, ended);
        const change = cutCredential(upstream);
        const changeError = (reason: unknown) => errorWithoutCredential(reason, upstream);
        return primedStream(answer.events, { change, changeError, ended }).then((events) => ({
          ...answer,
          events,
        }));
      },
    });
  }

  /** Embeds texts. @throws as {@link chat}. */
  embed({ model, body, signal }: ModelRequest): Promise<Routed<WholeAnswer>> {
    return this.#route<WholeAnswer>(model, signal, {
      send: (dialect, upstream, route) =>
        dialect.embed({ upstream, upstreamModel: route.model, publicModel: model.id, body, signal }),
      begin: wholeAnswer,
    });
  }

  /** The health of each upstream of the catalog. */
  health(): readonly UpstreamHealth[] {
    return [...this.#parts.catalog.upstreams.values()].map((upstream) => this.#stateOf(upstream).health());
  }

  async #route<Answer>(
    model: CatalogModel,
    signal: RequestSignal,
    call: ModelCall<Answer>,
  ): Promise<Routed<Answer>> {
    const budget = this.#budgetOf(model);
    budget.first();
    const routes = [...shuffleByWeight(model.routes, this.#parts.random)];
    let failed: RoutesFailed | null = null;
    let wasSent = false;
    let shortestWaitMs = Number.POSITIVE_INFINITY;
    for (let route = routes.shift(); route !== undefined; route = routes.shift()) {
      // The catalog may have lost an upstream since the model was looked up.
      const upstream = this.#parts.catalog.upstreams.get(route.upstream);
      if (upstream === undefined) continue;
      const state = this.#stateOf(upstream);
      if (!state.breaker.isPassable) {
        shortestWaitMs = Math.min(shortestWaitMs, Math.max(state.breaker.waitMs, 1_000));
        continue;
      }
      // It is a retry only if something was sent before.
      if (wasSent && !budget.retry()) break;
      const isLast = !routes.some((left) => this.#isPassable(left));
      try {
        const answer = await this.#attempt(upstream, route, state, { signal, call, isLast });
        if (answer !== null) return answer;
        failed = new RoutesFailed(route.upstream, atCapacity());
      } catch (reason) {
        // The request can't be expressed in this upstream's dialect. Nothing was sent.
        if (reason instanceof Failure) throw reason;
        wasSent = true;
        failed = new RoutesFailed(route.upstream, reason);
        if (signal.aborted || !verdictOf(reason).retryable) throw failed;
        // The upstream may have been closing an idle connection. A new connection may work.
        const isCut = reason instanceof TransportError && reason.fault === "cut";
        if (isLast && isCut && route.isRetry !== true) routes.push({ ...route, isRetry: true });
      }
    }
    throw failed ?? new RoutesFailed(null, paused(shortestWaitMs));
  }

  #isPassable(route: Route): boolean {
    const upstream = this.#parts.catalog.upstreams.get(route.upstream);
    return upstream !== undefined && this.#stateOf(upstream).breaker.isPassable;
  }

  /** Each model has its own budget, so that failures of one model's upstreams do not limit another's retries. */
  #budgetOf({ id }: CatalogModel): RetryBudget {
    let budget = this.#budgets.get(id);
    if (budget === undefined) {
      budget = new RetryBudget(this.#parts.monotonicMs);
      this.#budgets.set(id, budget);
    }
    return budget;
  }

  /** @returns `null` if the upstream has no free slot. Nothing was sent then. */
  async #attempt<Answer>(
    upstream: Upstream,
    route: Route,
    state: UpstreamState,
    { signal, call, isLast }: { signal: RequestSignal; call: ModelCall<Answer>; isLast: boolean },
  ): Promise<Routed<Answer> | null> {
    const release = state.slots.take() ?? (isLast ? await state.slots.wait(signal) : null);
    if (release === null) return null;
    const attempt = state.breaker.enter();
    if (attempt === null) {
      release();
      return null;
    }
    let isEnded = false;
    const ended = (reason: unknown) => {
      if (isEnded) return;
      isEnded = true;
      signal.removeEventListener("abort", left);
      release();
      attempt.ended(reason === null ? this.#succeeded(state) : this.#failed(state, reason));
    };
    // An answer that is never read has to release its slot too.
    const left = () => ended(new TransportError("aborted", "the request was left"));
    signal.addEventListener("abort", left);
    try {
      const sent = await call.send(this.#dialectOf(upstream), upstream, route);
      const beginning = call.begin(sent, upstream, ended);
      const answer = beginning instanceof Promise ? await beginning : beginning;
      attempt.begun();
      return { answer, upstream: upstream.name };
    } catch (reason) {
      ended(reason);
      throw errorWithoutCredential(reason, upstream);
    }
  }

  #dialectOf({ name, dialect }: Upstream): Dialect {
    const found = this.#parts.dialects.get(dialect);
    if (found === undefined) throw new Error(`there is no dialect ${dialect} for upstream ${name}`);
    return found;
  }

  #succeeded(state: UpstreamState): "success" {
    state.succeeded();
    return "success";
  }

  #failed(state: UpstreamState, reason: unknown): Verdict["outcome"] {
    // Faults that one account simulates must not close the sandbox to others.
    if (state.isSimulated) return "unknown";
    const { outcome, isCredential } = verdictOf(reason);
    if (isCredential) {
      state.refusedCredential(this.#parts.now());
      this.#parts.onCredentialRefused(state.name);
    }
    if (outcome === "success") state.succeeded();
    if (outcome === "failure") state.failed(reason instanceof Error ? reason.message : "", this.#parts.now());
    return outcome;
  }

  /** The state of an upstream is kept as long as the catalog describes it in the same way. */
  #stateOf(upstream: Upstream): UpstreamState {
    const known = this.#stateOfSame.get(upstream);
    if (known !== undefined) return known;
    const { name, baseUrl, maxConcurrency, breaker } = upstream;
    const key = `${name} ${baseUrl} ${maxConcurrency} ${breaker.failures} ${breaker.openMs}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      state = new UpstreamState(upstream, this.#parts.monotonicMs);
      this.#states.set(key, state);
    }
    this.#stateOfSame.set(upstream, state);
    return state;
  }
}

function wholeAnswer(answer: WholeAnswer, upstream: Upstream, ended: (reason: unknown) => void): WholeAnswer {
  ended(null);
  const body = cutCredential(upstream)(answer.body);
  return body === answer.body ? answer : { ...answer, body };
}

function atCapacity(): Failure {
  return new Failure("server_is_overloaded", "The model's provider is at capacity. Try again shortly.", {
    retryAfterMs: 1_000,
  });
}

function paused(waitMs: number): Failure {
  return new Failure(
    "server_is_overloaded",
    "The model's provider has failed repeatedly, and requests to it are paused. Try again later, or choose another model.",
    { retryAfterMs: Number.isFinite(waitMs) ? waitMs : 1_000 },
  );
}
