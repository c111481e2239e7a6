import type { RequestSignal } from "../errors/request-signal.ts";
import { latestOfMost } from "../resources/make-room.ts";
import type { Sender } from "./upstream-breaker.ts";

interface Waiter {
  readonly sender: Sender;
  /** Ends the wait: with a released slot, or without one. */
  readonly decide: (isFree: boolean) => void;
}

/** The share of the slots, at least one, that an account leaves free for others, whose last request was not longer ago than this. */
const LEFT_SHARE = 1 / 8;
const LEFT_MS = 10 * 60_000;

/**
 * The concurrency slots of an upstream, and a short queue for them. A released slot goes to the account that has the fewest, and in a full queue the
 * account that waits with the most requests makes room, so that one account's many requests do not keep out those of others. Streams may last for an
 * hour, so an account also leaves some slots free while others use the upstream.
 */
export class Slots {
  readonly #maxTaken: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  readonly #monotonicMs: () => number;
  /** The maximum of an account while others use the upstream. */
  readonly #maxBesideOthers: number;
  /** The sender of the last request, and the last one of another sender, with when it came. */
  #last: { readonly sender: Sender; atMs: number } | null = null;
  #lastOther: { readonly sender: Sender; atMs: number } | null = null;
  #taken = 0;
  readonly #takenBy = new Map<Sender, number>();
  readonly #waiting: Waiter[] = [];

  constructor(maxTaken: number, maxWaiting: number, timeoutMs: number, monotonicMs: () => number) {
    this.#maxTaken = maxTaken;
    this.#maxBesideOthers = Math.max(1, Math.min(maxTaken - 1, Math.floor(maxTaken * (1 - LEFT_SHARE))));
    this.#monotonicMs = monotonicMs;
    this.#maxWaiting = maxWaiting;
    this.#timeoutMs = timeoutMs;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a slot. @returns a function that releases it; `null` if all slots are taken, or all that the account may have. */
  take(sender: Sender): (() => void) | null {
    this.#note(sender);
    if (this.#taken >= this.#maxTaken || !this.#mayHaveMore(sender)) return null;
    this.#taken++;
    this.#count(sender, 1);
    return this.#releaseOnce(sender);
  }

  /** Waits for a slot. @returns a function that releases it; `null` on timeout or abort, or at once if too many wait already. */
  async wait(signal: RequestSignal, sender: Sender): Promise<(() => void) | null> {
    if (signal.aborted) return null;
    if (this.#waiting.length >= this.#maxWaiting) {
      const latest = latestOfMost(this.#waiting, (waiter) => waiter.sender, sender);
      if (latest === null) return null;
      this.#end(latest, false);
    }
    return (await this.#nextFreed(signal, sender)) ? this.#releaseOnce(sender) : null;
  }

  /** Resolves with whether a released slot was passed on to this request. */
  #nextFreed(signal: RequestSignal, sender: Sender): Promise<boolean> {
    return new Promise((resolve) => {
      const decide = (isFree: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stopWaiting);
        resolve(isFree);
      };
      const waiter: Waiter = { sender, decide };
      const stopWaiting = () => this.#end(waiter, false);
      const timer = setTimeout(stopWaiting, this.#timeoutMs);
      signal.addEventListener("abort", stopWaiting);
      this.#waiting.push(waiter);
    });
  }

  #end(waiter: Waiter, isFree: boolean): void {
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
    waiter.decide(isFree);
  }

  #releaseOnce(sender: Sender): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      // The released slot still counts for its account, so that with few slots another account has its turn.
      this.#passOn(sender);
      this.#count(sender, -1);
    };
  }

  #note(sender: Sender): void {
    const atMs = this.#monotonicMs();
    if (this.#last?.sender === sender) {
      this.#last.atMs = atMs;
      return;
    }
    this.#lastOther = this.#last;
    this.#last = { sender, atMs };
  }

  /** Whether the account may have another slot beside others. `released`: the slots that it is about to release. */
  #mayHaveMore(sender: Sender, released = 0): boolean {
    if (this.#takenOf(sender) - released < this.#maxBesideOthers) return true;
    const other = this.#last?.sender === sender ? this.#lastOther : this.#last;
    return other === null || this.#monotonicMs() - other.atMs > LEFT_MS;
  }

  #count(sender: Sender, more: number): void {
    const taken = this.#takenOf(sender) + more;
    if (taken > 0) this.#takenBy.set(sender, taken);
    else this.#takenBy.delete(sender);
  }

  #takenOf(sender: Sender): number {
    return this.#takenBy.get(sender) ?? 0;
  }

  /** Passes a released slot on. `releasing`: the account that had it. */
  #passOn(releasing: Sender): void {
    let next: Waiter | null = null;
    for (const waiter of this.#waiting) {
      const isFewer = next === null || this.#takenOf(waiter.sender) < this.#takenOf(next.sender);
      if (isFewer && this.#mayHaveMore(waiter.sender, waiter.sender === releasing ? 1 : 0)) next = waiter;
    }
    if (next === null) {
      this.#taken--;
      return;
    }
    this.#count(next.sender, 1);
    this.#end(next, true);
  }
}
