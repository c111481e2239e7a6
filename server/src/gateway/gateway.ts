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
import { type UpstreamHealth, UpstreamState } from "./upstream-state.ts";
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
interface AnswerRequest extends ModelRequest, ClientRequest {}

interface EmbeddingRequest extends ModelRequest {
  /** In OpenAI's format. */
  readonly body: JsonBody;
}

/** An upstream's answer. The first event of a stream has arrived. */
export interface Routed<Answer> {
  readonly answer: Answer;
  /** The name of the upstream that answered. */
  readonly upstream: string;
}

interface GatewayParts {
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

/** How one kind of request is sent to an upstream, once a route was chosen. */
interface RequestKind<Request extends ModelRequest, Answer> {
  send(request: Request, dialect: Dialect, call: UpstreamCall): Promise<Answer>;
  /** Waits for the first event of a stream. Calls `ended` when the answer has ended. */
  prime(answer: Answer, upstream: Upstream, ended: (reason: unknown) => void): Answer | Promise<Answer>;
  /** The usage that the upstream has reported of a stream so far. */
  usageSoFar(answer: Answer): Usage | null;
}

const EMBEDDINGS: RequestKind<EmbeddingRequest, WholeAnswer> = {
  send: ({ body }, dialect, call) => dialect.embed({ ...call, body }),
  prime: wholeAnswer,
  usageSoFar: () => null,
};

function answersDatedBy(now: () => Date): RequestKind<AnswerRequest, WireAnswer> {
  return {
    send: (request, dialect, call) =>
      answerThrough(dialect, call, request, () => headOf(call.publicModel, now)),
    prime: primedAnswer,
    usageSoFar: (answer) => (answer.kind === "stream" ? (answer.usageSoFar?.() ?? null) : null),
  };
}

function headOf(model: string, now: () => Date): AnswerHead {
  const id = crypto.randomUUID().replaceAll("-", "");
  const nowS = () => Math.floor(now().getTime() / 1_000);
  return { id, created: nowS(), now: nowS, model };
}

/** A route that is tried, with its upstream. */
interface Trial {
  readonly route: Route;
  readonly upstream: Upstream;
  readonly state: UpstreamState;
  /** Whether no other route is left that may be tried. */
  readonly isLast: boolean;
}

/** Sends requests to upstreams. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #answers: RequestKind<AnswerRequest, WireAnswer>;
  readonly #states = new Map<string, UpstreamState>();
  /** The states of the current catalog's upstreams, found without building a key. */
  readonly #stateOfSame = new WeakMap<Upstream, UpstreamState>();
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#answers = answersDatedBy(parts.now);
  }

  /**
   * Tries the model's routes one after the other until one answers. It tries the next one only while nothing has reached the
   * client, and only after a failure that is retryable.
   *
   * @throws {Failure} the request can't be expressed in the upstream's dialect. Nothing was sent to that upstream.
   * @throws {RoutesFailed} with what the last route threw.
   */
  answer(request: AnswerRequest): Promise<Routed<WireAnswer>> {
    return this.#route(this.#answers, request);
  }

  /** Embeds texts. @throws as {@link answer}. */
  embed(request: EmbeddingRequest): Promise<Routed<WholeAnswer>> {
    return this.#route(EMBEDDINGS, request);
  }

  /** The health of each upstream of the catalog. */
  health(): readonly UpstreamHealth[] {
    return [...this.#parts.catalog.upstreams.values()].map((upstream) => this.#stateOf(upstream).health());
  }

  async #route<Request extends ModelRequest, Answer>(
    kind: RequestKind<Request, Answer>,
    request: Request,
  ): Promise<Routed<Answer>> {
    const { model, signal } = request;
    const sender = senderOf(request);
    const budget = this.#budgetOf(model);
    budget.countFirst(sender);
    const routes = [...shuffleByWeight(model.routes, this.#parts.random)];
    // These are the upstreams of the catalog in which the model was found. In a catalog that was loaded since, a name may stand for another server.
    const upstreams = this.#parts.catalog.upstreamsOf(model);
    let failed: RoutesFailed | null = null;
    /** The usage that the last attempt has reported with its failure. */
    let reported: { readonly usage: Usage; readonly state: UpstreamState } | null = null;
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
      // Another attempt follows, and the request's entry records the usage of the last one only.
      reported?.state.countUnbilled(reported.usage);
      reported = null;
      try {
        const answer = await this.#attempt(kind, request, { route, upstream, state, isLast });
        if (answer !== null) return answer;
        failed = new RoutesFailed(route.upstream, atCapacity());
      } catch (reason) {
        const usage = reason instanceof UpstreamRefused ? reason.usage : null;
        if (usage !== null) reported = { usage, state };
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
  async #attempt<Request extends ModelRequest, Answer>(
    kind: RequestKind<Request, Answer>,
    request: Request,
    { route, upstream, state, isLast }: Trial,
  ): Promise<Routed<Answer> | null> {
    const { signal } = request;
    const sender = senderOf(request);
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
      const call = upstreamCallOf(request, upstream, route);
      sent = await kind.send(request, this.#dialectOf(upstream), call);
      const primed = kind.prime(sent, upstream, ended);
      const answer = primed instanceof Promise ? await primed : primed;
      attempt.begun();
      return { answer, upstream: upstream.name };
    } catch (reason) {
      ended(reason);
      // A stream that fails before anything of it has reached the client is not charged, whatever usage it has reported.
      const isCharged = reason instanceof UpstreamRefused && reason.usage !== null;
      const usage = isCharged || sent === null ? null : kind.usageSoFar(sent);
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

function senderOf({ accountId }: ModelRequest): Sender {
  return accountId ?? null;
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
