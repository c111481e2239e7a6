import type { Catalog, CatalogModel, Route, Upstream } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import type { AnswerHead } from "../conversation/wire.ts";
import { Failure } from "../errors/failure.ts";
import type { RequestSignal } from "../errors/request-signal.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { type AnswerMemory, NoAnswerMemory } from "../upstream/answer-memory.ts";
import {
  type Dialect,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
  type WireAnswer,
} from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";
import { answerThrough, type ClientRequest } from "./answer-through.ts";
import { primedAnswer, wholeAnswer } from "./primed-answer.ts";
import { RetryBudget } from "./retry-budget.ts";
import { shuffleByWeight } from "./route-order.ts";
import { RoutesFailed } from "./routes-failed.ts";
import type { Sender } from "./upstream-breaker.ts";
import { type UpstreamHealth, UpstreamState } from "./upstream-health.ts";
import { type Verdict, verdictOf } from "./verdict.ts";
import { errorWithoutCredential } from "./without-credential.ts";

interface ModelRequest {
  readonly model: CatalogModel;
  /** Aborted when the answer is no longer needed, or the service stops. */
  readonly signal: RequestSignal;
  /** Whose failures must not keep requests of other accounts from an upstream. Absent: those of no account. */
  readonly accountId?: AccountId;
  /** For the answer. Absent: it is not limited. */
  readonly memory?: AnswerMemory | undefined;
}

/** A request for an answer, in the format of its client. */
export interface AnswerRequest extends ModelRequest, ClientRequest {}

export interface EmbeddingRequest extends ModelRequest {
  /** In OpenAI's format. */
  readonly body: JsonBody;
}

/** An upstream's answer. The first event of a stream has arrived. */
export interface Routed<Answer> {
  readonly answer: Answer;
  /** The name of the upstream that answered. */
  readonly upstream: string;
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

/** How a kind of request is sent to an upstream, once a route was chosen. */
interface RouteCall<Answer> {
  send(dialect: Dialect, upstream: Upstream, route: Route): Promise<Answer>;
  /** Waits for the first event of a stream. Calls `ended` when the answer has ended. */
  prime(answer: Answer, upstream: Upstream, ended: (reason: unknown) => void): Answer | Promise<Answer>;
  /** The usage that the upstream has reported of a stream so far. */
  usageSoFar(answer: Answer): Usage | null;
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
   * @throws {Failure} the request can't be expressed in the upstream's dialect. Nothing was sent to that upstream.
   * @throws {RoutesFailed} with what the last route threw.
   */
  answer(answerRequest: AnswerRequest): Promise<Routed<WireAnswer>> {
    return this.#route<WireAnswer>(answerRequest, {
      send: (dialect, upstream, route) => {
        const call = upstreamCallOf(answerRequest, upstream, route);
        return answerThrough(dialect, call, answerRequest, () => this.#head(answerRequest.model));
      },
      prime: primedAnswer,
      usageSoFar: (answer) => (answer.kind === "stream" ? (answer.usageSoFar?.() ?? null) : null),
    });
  }

  /** Embeds texts. @throws as {@link answer}. */
  embed(embeddingRequest: EmbeddingRequest): Promise<Routed<WholeAnswer>> {
    const { body } = embeddingRequest;
    return this.#route<WholeAnswer>(embeddingRequest, {
      send: (dialect, upstream, route) =>
        dialect.embed({ ...upstreamCallOf(embeddingRequest, upstream, route), body }),
      prime: wholeAnswer,
      usageSoFar: () => null,
    });
  }

  #head({ id: model }: CatalogModel): AnswerHead {
    const id = crypto.randomUUID().replaceAll("-", "");
    const now = () => Math.floor(this.#parts.now().getTime() / 1_000);
    return { id, created: now(), now, model };
  }

  /** The health of each upstream of the catalog. */
  health(): readonly UpstreamHealth[] {
    return [...this.#parts.catalog.upstreams.values()].map((upstream) => this.#stateOf(upstream).health());
  }

  async #route<Answer>(
    { model, signal, accountId }: Pick<ModelRequest, "model" | "signal" | "accountId">,
    call: RouteCall<Answer>,
  ): Promise<Routed<Answer>> {
    const sender = accountId ?? null;
    const budget = this.#budgetOf(model);
    budget.countFirst(sender);
    const routes = [...shuffleByWeight(model.routes, this.#parts.random)];
    // These are the upstreams of the catalog in which the model was found. In a catalog that was loaded since, a name may stand for another server.
    const upstreams = this.#parts.catalog.upstreamsOf(model);
    let failed: RoutesFailed | null = null;
    /**
     * Counts the usage that the last failed attempt has reported; `null` if it reported none. Called when another attempt follows, because the request's
     * entry records the usage of the last attempt only.
     */
    let countFailed: (() => void) | null = null;
    let wasSent = false;
    let shortestWaitMs = Number.POSITIVE_INFINITY;
    for (let route = routes.shift(); route !== undefined; route = routes.shift()) {
      const upstream = upstreams.get(route.upstream);
      // A loaded catalog has an upstream for each route, so this does not occur.
      if (upstream === undefined) continue;
      const state = this.#stateOf(upstream);
      if (!state.breaker.isPassable(sender)) {
        shortestWaitMs = Math.min(shortestWaitMs, Math.max(state.breaker.waitMs(sender), 1_000));
        continue;
      }
      // It is a retry only if something was sent before.
      if (wasSent && !budget.takeRetry(sender)) break;
      const isLast = !routes.some((left) => this.#isPassable(upstreams.get(left.upstream), sender));
      try {
        const answer = await this.#attempt(upstream, route, state, { signal, sender, call, isLast });
        countFailed?.();
        countFailed = null;
        if (answer !== null) return answer;
        failed = new RoutesFailed(route.upstream, atCapacity());
      } catch (reason) {
        countFailed?.();
        const usage = reason instanceof UpstreamRefused ? reason.usage : null;
        countFailed = usage === null ? null : () => state.countUnbilled(usage);
        // The request can't be expressed in this upstream's dialect. Nothing was sent.
        if (reason instanceof Failure && !(reason instanceof NoAnswerMemory)) throw reason;
        wasSent = true;
        failed = new RoutesFailed(route.upstream, reason);
        if (signal.aborted || !verdictOf(reason).isRetryable) throw failed;
        // The upstream may have been closing an idle connection. A new connection may work.
        const isCut = reason instanceof TransportError && reason.fault === "cut";
        if (isLast && isCut && route.isRetry !== true) routes.push({ ...route, isRetry: true });
      }
    }
    throw failed ?? new RoutesFailed(null, breakersOpen(shortestWaitMs));
  }

  #isPassable(upstream: Upstream | undefined, sender: Sender): boolean {
    return upstream !== undefined && this.#stateOf(upstream).breaker.isPassable(sender);
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
    {
      signal,
      sender,
      call,
      isLast,
    }: { signal: RequestSignal; sender: Sender; call: RouteCall<Answer>; isLast: boolean },
  ): Promise<Routed<Answer> | null> {
    const release = state.slots.take(sender) ?? (isLast ? await state.slots.wait(signal, sender) : null);
    if (release === null) return null;
    const attempt = state.breaker.enter(sender);
    if (attempt === null) {
      release();
      return null;
    }
    let sent: Answer | null = null;
    let isEnded = false;
    const ended = (reason: unknown) => {
      if (isEnded) return;
      isEnded = true;
      signal.removeEventListener("abort", left);
      release();
      attempt.ended(this.#outcomeOf(state, reason));
    };
    // An answer that is never read has to release its slot too.
    const left = () => ended(new TransportError("aborted", "the request was left"));
    signal.addEventListener("abort", left);
    try {
      sent = await call.send(this.#dialectOf(upstream), upstream, route);
      const primed = call.prime(sent, upstream, ended);
      const answer = primed instanceof Promise ? await primed : primed;
      attempt.begun();
      return { answer, upstream: upstream.name };
    } catch (reason) {
      ended(reason);
      // A stream that fails before anything of it has reached the client is not charged, whatever usage it has reported.
      const isCharged = reason instanceof UpstreamRefused && reason.usage !== null;
      const usage = isCharged || sent === null ? null : call.usageSoFar(sent);
      if (usage !== null) state.countUnbilled(usage);
      throw errorWithoutCredential(reason, upstream);
    }
  }

  #dialectOf({ name, dialect }: Upstream): Dialect {
    const found = this.#parts.dialects.get(dialect);
    if (found === undefined) throw new Error(`there is no dialect ${dialect} for upstream ${name}`);
    return found;
  }

  /** What an attempt tells about its upstream, which is counted. `reason`: why it failed; `null`: it succeeded. */
  #outcomeOf(state: UpstreamState, reason: unknown): Verdict["outcome"] {
    if (reason === null) {
      state.succeeded();
      return "success";
    }
    // Faults that one account simulates must not close the sandbox to others.
    if (state.isSimulated) return "unknown";
    const { outcome, refusesCredential } = verdictOf(reason);
    if (refusesCredential) {
      state.refusedCredential(this.#parts.now());
      this.#parts.onCredentialRefused(state.name);
    }
    if (outcome === "success") state.succeeded();
    if (outcome === "failure") state.failed(reason instanceof Error ? reason.message : "", this.#parts.now());
    return outcome;
  }

  /** The state of an upstream is kept as long as it has the same address and limits. */
  #stateOf(upstream: Upstream): UpstreamState {
    const known = this.#stateOfSame.get(upstream);
    if (known !== undefined) return known;
    const { name, baseUrl, maxConcurrency, breaker } = upstream;
    const key = `${name} ${baseUrl} ${maxConcurrency} ${breaker.failures} ${breaker.openMs}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      state = new UpstreamState(upstream, this.#parts.monotonicMs);
      this.#states.set(key, state);
    } else state.describe(upstream);
    this.#stateOfSame.set(upstream, state);
    return state;
  }
}

/** The call of a route's upstream. Releases what was reserved for the answer of the upstream before it. */
function upstreamCallOf(
  { model, signal, memory }: ModelRequest,
  upstream: Upstream,
  route: Route,
): UpstreamCall {
  memory?.reset();
  return { upstream, upstreamModel: route.model, publicModel: model.id, signal, memory };
}

function atCapacity(): Failure {
  return new Failure("server_is_overloaded", "The model's provider is at capacity. Try again shortly.", {
    retryAfterMs: 1_000,
  });
}

function breakersOpen(waitMs: number): Failure {
  return new Failure(
    "server_is_overloaded",
    "The model's provider has failed repeatedly, and requests to it are paused. Try again later, or choose another model.",
    { retryAfterMs: Number.isFinite(waitMs) ? waitMs : 1_000 },
  );
}
