import type { SpenderId } from "../contract/ids.ts";
import { ANSWER_TIMEOUT_MS, withAnswerTimeout, withTimeout } from "../errors/deadline.ts";
import type { Allowance, AskOutcome, Spender } from "./allowance.ts";
import type { DueRelease } from "./credit-releases.ts";
import { type CreditStore, SpenderGone } from "./credit-store.ts";

/** After a failed ask, requests of the account fail at once for this long. Then one of them asks again. */
const RETRY_AFTER_FAILURE_MS = 1_000;
/** How soon a request asks again for credit that other nodes have reserved and do not need. */
export const RECLAIM_PAUSE_MS = 250;
/** Requests of an account without enough credit ask for it this often, and this many times at once after a pause. */
const SHORT_ASKS = { everyMs: 250, atOnce: 4 };
/** The maximum asked for beyond what is needed: 1 USD. The database grants at most a tenth of the free credit. */
const EXTRA_NANO_USD = 1_000_000_000n;
/**
 * 4.6 billion USD, which no account has: an ask for more is an ask for everything. The database adds the extra, and its amounts are signed
 * integers of 64 bits.
 */
const MAX_TARGET_NANO_USD = 2n ** 62n;

/** A request that waits for credit. */
export interface WaitingRequest {
  readonly needNanoUsd: bigint;
  readonly beganMs: number;
  /** By allowance that it has tried: the number of the last ask that was sent before the request came. */
  readonly lastAsks: Map<Allowance, bigint>;
  /** The allowance whose asks include its need. */
  countedIn: Allowance | null;
}

interface AskParts {
  readonly store: Pick<CreditStore, "ask">;
  readonly monotonicMs: () => number;
  /** Called when the database has answered that the spender is closed. */
  readonly onGone: (id: SpenderId) => void;
}

/** Asks the database to change what accounts have granted to spenders of this node. */
export class CreditAsks {
  readonly #parts: AskParts;

  constructor(parts: AskParts) {
    this.#parts = parts;
  }

  /**
   * The outcome of an ask for a request: of a new ask, of one in flight, or of a recent one. `null` if the account had too little at an ask
   * that was sent before the request came: it may have been granted credit since.
   */
  async answerFor(
    spender: Spender,
    allowance: Allowance,
    request: WaitingRequest,
  ): Promise<AskOutcome | null> {
    const { beganMs, lastAsks } = request;
    const lastAsk = lastAsks.get(allowance) ?? allowance.number;
    lastAsks.set(allowance, lastAsk);
    const { short, failed } = allowance;
    const nowMs = this.#parts.monotonicMs();
    if (allowance.asking === null) {
      // A database that is down must not delay all requests, and those of an account without credit must not load it.
      if (failed !== null && nowMs - failed.atMs < RETRY_AFTER_FAILURE_MS) throw failed.error;
      if (short !== null) {
        const isTooSoon = allowance.shortAsksMs - nowMs > (SHORT_ASKS.atOnce - 1) * SHORT_ASKS.everyMs;
        const mayUseAnswer = short.outcome.number > lastAsk || isTooSoon;
        if (mayUseAnswer && nowMs - short.atMs < RECLAIM_PAUSE_MS) return short.outcome;
      }
    }
    this.#count(request, allowance);
    const asking = allowance.asking ?? this.#ask(spender, allowance);
    // A request that joins several asks in turn waits no longer than for one.
    const outcome = await withTimeout(Math.max(0, beganMs + ANSWER_TIMEOUT_MS - nowMs), () => asking);
    return outcome.isShort && outcome.number <= lastAsk ? null : outcome;
  }

  /** Asks no longer include the need of a request. Call it when the request has its hold, fails or pauses. */
  leave(request: WaitingRequest): void {
    if (request.countedIn !== null) request.countedIn.demand -= request.needNanoUsd;
    request.countedIn = null;
  }

  /** The need counts until {@link leave}: the next ask is sent before all who waited for the one before have looked at its outcome. */
  #count(request: WaitingRequest, allowance: Allowance): void {
    this.leave(request);
    allowance.demand += request.needNanoUsd;
    request.countedIn = allowance;
  }

  /** Asks for more before requests need it, unless that failed a short time ago. */
  askAhead(spender: Spender, allowance: Allowance): void {
    const { asking, failed } = allowance;
    const isTooSoon = failed !== null && this.#parts.monotonicMs() - failed.atMs < RETRY_AFTER_FAILURE_MS;
    if (asking === null && !isTooSoon) this.#ask(spender, allowance).catch(() => {});
  }

  /**
   * Asks for what is held and needed, and some more. One ask of an account is in flight at a time. The target includes what
   * is granted already, because requests hold credit of it meanwhile.
   */
  #ask(spender: Spender, allowance: Allowance): Promise<AskOutcome> {
    const missing = allowance.demand - allowance.free;
    const target = missing > 0n ? allowance.granted + missing : allowance.granted;
    return this.#askFor(spender, allowance, target, EXTRA_NANO_USD);
  }

  /** Releases what is neither held nor to be kept. */
  async release({ spender, allowance, keepNanoUsd }: DueRelease): Promise<void> {
    await this.#askFor(spender, allowance, allowance.promised + keepNanoUsd, 0n).catch((error: unknown) => {
      if (!(error instanceof SpenderGone)) throw error;
    });
  }

  #askFor(
    spender: Spender,
    allowance: Allowance,
    targetNanoUsd: bigint,
    extraNanoUsd: bigint,
  ): Promise<AskOutcome> {
    const { accountId } = allowance;
    const number = ++allowance.number;
    // The count is lowered before the ask is sent: what is being released must not be held.
    if (targetNanoUsd < allowance.granted) allowance.granted = targetNanoUsd;
    const asked = targetNanoUsd < MAX_TARGET_NANO_USD ? targetNanoUsd : MAX_TARGET_NANO_USD;
    const ask = { accountId, spender: spender.id, number, targetNanoUsd: asked, extraNanoUsd };
    const asking = withAnswerTimeout(() => this.#parts.store.ask(ask))
      .then(
        (answer) => {
          const isShort = answer.grantedNanoUsd < targetNanoUsd;
          const outcome = { ...answer, number, isShort };
          this.#noteOutcome(allowance, outcome);
          if (extraNanoUsd > 0n) allowance.extra = isShort ? 0n : answer.grantedNanoUsd - targetNanoUsd;
          return outcome;
        },
        (error: unknown) => {
          this.#noteFailure(spender, allowance, error);
          throw error;
        },
      )
      .finally(() => {
        allowance.asking = null;
      });
    allowance.asking = asking;
    return asking;
  }

  /** Notes in the allowance what the database has answered to its latest ask. */
  #noteOutcome(allowance: Allowance, outcome: AskOutcome): void {
    const { grantedNanoUsd, chargedNanoUsd, isShort } = outcome;
    allowance.granted = grantedNanoUsd;
    // A charge that this node did not settle, such as one of a replayed journal line that names the spender, has used its reserve.
    if (chargedNanoUsd > allowance.settled) allowance.settled = chargedNanoUsd;
    allowance.isUncertain = false;
    allowance.failed = null;
    const nowMs = this.#parts.monotonicMs();
    allowance.short = isShort ? { outcome, atMs: nowMs } : null;
    if (isShort) allowance.shortAsksMs = Math.max(allowance.shortAsksMs, nowMs) + SHORT_ASKS.everyMs;
  }

  /** Notes why the latest ask has failed: the next ones wait, and what is granted is uncertain. */
  #noteFailure({ id }: Spender, allowance: Allowance, error: unknown): void {
    if (error instanceof SpenderGone) {
      this.#parts.onGone(id);
      return;
    }
    allowance.isUncertain = true;
    allowance.failed = { error, atMs: this.#parts.monotonicMs() };
  }
}
