import type { RequestSignal } from "../errors/request-signal.ts";
import type { Sender } from "./upstream-breaker.ts";

interface Waiter {
  readonly sender: Sender;
  /** Ends the wait: with a released slot, or without one. */
  readonly decide: (isFree: boolean) => void;
}

/**
 * The concurrency slots of an upstream, and a short queue for them. A released slot goes to the account that has the fewest, and in a full queue the
 * account that waits with the most requests makes room, so that one account's many requests do not keep out those of others.
 */
export class Slots {
  readonly #maxTaken: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  #taken = 0;
  readonly #takenBy = new Map<Sender, number>();
  readonly #waiting: Waiter[] = [];

  constructor(maxTaken: number, maxWaiting: number, timeoutMs: number) {
    this.#maxTaken = maxTaken;
    this.#maxWaiting = maxWaiting;
    this.#timeoutMs = timeoutMs;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a slot. @returns a function that releases it; `null` if all slots are taken. */
  take(sender: Sender): (() => void) | null {
    if (this.#taken >= this.#maxTaken) return null;
    this.#taken++;
    this.#count(sender, 1);
    return this.#releaseOnce(sender);
  }

  /** Waits for a slot. @returns a function that releases it; `null` on timeout or abort, or at once if too many wait already. */
  async wait(signal: RequestSignal, sender: Sender): Promise<(() => void) | null> {
    if (signal.aborted) return null;
    if (this.#waiting.length >= this.#maxWaiting && !this.#makeRoomFor(sender)) return null;
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

  /** Ends the wait of the latest request of the sender that waits with the most, unless the new request's sender would have as many. */
  #makeRoomFor(sender: Sender): boolean {
    const counts = new Map<Sender, number>();
    for (const waiter of this.#waiting) counts.set(waiter.sender, (counts.get(waiter.sender) ?? 0) + 1);
    const most = Math.max(...counts.values());
    if ((counts.get(sender) ?? 0) + 1 >= most) return false;
    const latest = this.#waiting.findLast((waiter) => counts.get(waiter.sender) === most);
    if (latest === undefined) return false;
    this.#end(latest, false);
    return true;
  }

  #releaseOnce(sender: Sender): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      // The released slot still counts for its account, so that with few slots another account has its turn.
      this.#passOn();
      this.#count(sender, -1);
    };
  }

  #count(sender: Sender, more: number): void {
    const taken = this.#takenOf(sender) + more;
    if (taken > 0) this.#takenBy.set(sender, taken);
    else this.#takenBy.delete(sender);
  }

  #takenOf(sender: Sender): number {
    return this.#takenBy.get(sender) ?? 0;
  }

  #passOn(): void {
    let next = this.#waiting[0];
    if (next === undefined) {
      this.#taken--;
      return;
    }
    for (const waiter of this.#waiting) {
      if (this.#takenOf(waiter.sender) < this.#takenOf(next.sender)) next = waiter;
    }
    this.#count(next.sender, 1);
    this.#end(next, true);
  }
}
