import { LRUCache } from "lru-cache";
import type { BreakerSettings } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import { atMost } from "../resources/at-most.ts";
import { type Attempt, Breaker, type BreakerState } from "./breaker.ts";

/** The account of a request; `null`: requests of no account count together. */
export type Sender = AccountId | null;

/** The maximum number of senders whose breakers are kept. Those that have sent nothing for the longest time are forgotten first. */
const MAX_SENDERS = 10_000;
const STATES: readonly BreakerState[] = ["open", "half-open", "closed"];

/**
 * The breakers of an upstream: one for all accounts, and one for each. Some upstreams fail at certain requests only, such as one with a schema that
 * they can't compile, or whose answer takes too long. An account that sends these again and again opens its own breaker and no other's: of the failures
 * in a row that open the breaker for all, one account counts for half at most. A failure does not count for all if the upstream has answered
 * another account since the request was sent: accounts that send requests that take too long must not close an upstream that works to others.
 */
export class UpstreamBreaker {
  readonly #settings: BreakerSettings;
  readonly #monotonicMs: () => number;
  readonly #ofAll: Breaker;
  readonly #ofSenders = new LRUCache<string, Breaker>(atMost(MAX_SENDERS));
  /** The failures since the last success. */
  readonly #failures = new Map<Sender, number>();
  /** The number of requests that have succeeded. */
  #answers = 0;
  /** The sender of the last of them. */
  #lastAnswered: Sender = null;
  /** The number of the last answer to a sender other than {@link #lastAnswered}. */
  #lastToOther = 0;

  constructor(settings: BreakerSettings, monotonicMs: () => number) {
    this.#settings = settings;
    this.#monotonicMs = monotonicMs;
    this.#ofAll = new Breaker(settings, monotonicMs);
  }

  /** The state for all accounts, and for the account that all failures since the last success are of. */
  get state(): BreakerState {
    const [sender] = this.#failures.keys();
    const ofOnly = sender === undefined || this.#failures.size > 1 ? null : this.#of(sender);
    const states = [this.#ofAll.state, ofOnly?.state];
    return STATES.find((state) => states.includes(state)) ?? "closed";
  }

  /** Whether a request of the sender would pass now. */
  isPassable(sender: Sender): boolean {
    return this.#ofAll.isPassable && (this.#of(sender)?.isPassable ?? true);
  }

  /** Milliseconds until a request of the sender may pass. */
  waitMs(sender: Sender): number {
    return Math.max(this.#ofAll.waitMs, this.#of(sender)?.waitMs ?? 0);
  }

  /** Lets the next request of each sender pass as a probe, however long the breakers would stay open. */
  probe(): void {
    for (const breaker of [this.#ofAll, ...this.#ofSenders.values()]) breaker.probe();
  }

  /** Lets a request pass. @returns `null` if none of the sender may. */
  enter(sender: Sender): Attempt | null {
    if (!this.isPassable(sender)) return null;
    const ofAll = this.#ofAll.enter();
    const ofSender = this.#of(sender)?.enter() ?? null;
    if (ofAll === null) return null;
    const answersBefore = this.#answers;
    return {
      begun: () => {
        ofAll.begun();
        ofSender?.begun();
      },
      ended: (outcome) => {
        if (outcome === "failure") {
          const isOfAll = this.#lastAnswerToOthers(sender) <= answersBefore && this.#countFailure(sender);
          ofAll.ended(isOfAll ? outcome : "unknown");
          // Without a breaker until now, the sender's failures begin with this one.
          (ofSender ?? this.#made(sender).enter())?.ended(outcome);
          return;
        }
        if (outcome === "success") this.#countAnswer(sender);
        // Clearing an empty map makes a new one.
        if (outcome === "success" && this.#failures.size > 0) this.#failures.clear();
        ofAll.ended(outcome);
        ofSender?.ended(outcome);
      },
    };
  }

  /** The breaker of a sender; `null` if none of its requests has failed lately. Most requests find none, so that they cost little. */
  #of(sender: Sender): Breaker | null {
    return this.#ofSenders.size === 0 ? null : (this.#ofSenders.get(nameOf(sender)) ?? null);
  }

  #made(sender: Sender): Breaker {
    const known = this.#of(sender);
    if (known !== null) return known;
    const made = new Breaker(this.#settings, this.#monotonicMs);
    this.#ofSenders.set(nameOf(sender), made);
    return made;
  }

  #countAnswer(sender: Sender): void {
    if (sender !== this.#lastAnswered) this.#lastToOther = this.#answers;
    this.#lastAnswered = sender;
    this.#answers++;
  }

  /** The number of the last answer to a sender other than this one. */
  #lastAnswerToOthers(sender: Sender): number {
    return sender === this.#lastAnswered ? this.#lastToOther : this.#answers;
  }

  /** Counts a failure. @returns whether it also counts for all accounts. */
  #countFailure(sender: Sender): boolean {
    const before = this.#failures.get(sender) ?? 0;
    this.#failures.set(sender, before + 1);
    return before < Math.ceil(this.#settings.failures / 2);
  }
}

function nameOf(sender: Sender): string {
  return sender ?? "";
}
