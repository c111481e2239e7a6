import type { RequestSignal } from "../errors/request-signal.ts";

/** Limits on the holders of a {@link FairSemaphore} and on those that wait for it. */
interface SemaphoreLimits {
  /** The maximum of concurrent holders of all names together. */
  readonly max: number;
  /** The maximum of concurrent holders of one name. */
  readonly maxOfName: number;
  /** The maximum of callers of one name that wait. Further ones are refused at once. */
  readonly maxWaitingOfName: number;
}

/**
 * Why a caller was refused: `waiting`, when too many of the name are waiting; `timeout`, when it waited for too long; `left`, when its signal was
 * aborted; `dismissed`, by {@link FairSemaphore.dismissWaiting}.
 */
export type NotAcquired = "waiting" | "timeout" | "left" | "dismissed";

interface WaitingCaller {
  readonly goOn: () => void;
  readonly giveUp: (reason: NotAcquired) => void;
}

interface CallersOfName {
  holders: number;
  /** In the order of arrival. */
  readonly waiting: Set<WaitingCaller>;
}

/**
 * A semaphore that is fair between names: they are served in rotation, and the callers of a name in order, so that a busy name delays
 * another one by at most one holder.
 */
export class FairSemaphore {
  readonly #limits: SemaphoreLimits;
  /** The names with holders or waiting callers, in the order of service. */
  readonly #names = new Map<string, CallersOfName>();
  #holders = 0;
  #waiting = 0;

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The number of current holders of a name. */
  holdersOf(name: string): number {
    return this.#names.get(name)?.holders ?? 0;
  }

  /**
   * Resolves with a function that releases the semaphore and must be called once, or with the reason why it was not acquired. A caller whose
   * signal is aborted stops waiting.
   */
  acquire(
    name: string,
    timeoutMs: number,
    signal: RequestSignal | null = null,
  ): Promise<(() => void) | NotAcquired> {
    if (signal?.aborted === true) return Promise.resolve("left");
    const callers = this.#callersOf(name);
    if (callers.waiting.size === 0 && this.#isFreeFor(callers)) {
      return Promise.resolve(this.#hold(name, callers));
    }
    if (callers.waiting.size >= this.#limits.maxWaitingOfName) return Promise.resolve("waiting");
    return new Promise((resolve) => {
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        callers.waiting.delete(caller);
        this.#waiting--;
      };
      const goOn = () => {
        stopWaiting();
        resolve(this.#hold(name, callers));
      };
      const giveUp = (reason: NotAcquired) => {
        stopWaiting();
        this.#forgetIdle(name, callers);
        resolve(reason);
      };
      const caller: WaitingCaller = { goOn, giveUp };
      const leave = () => giveUp("left");
      const timer = setTimeout(giveUp, timeoutMs, "timeout");
      signal?.addEventListener("abort", leave);
      callers.waiting.add(caller);
      this.#waiting++;
    });
  }

  /** Refuses all callers that wait at this moment. */
  dismissWaiting(): void {
    const waiting = [...this.#names.values()].flatMap((callers) => [...callers.waiting]);
    for (const { giveUp } of waiting) giveUp("dismissed");
  }

  #callersOf(name: string): CallersOfName {
    const callers: CallersOfName = this.#names.get(name) ?? { holders: 0, waiting: new Set() };
    this.#names.set(name, callers);
    return callers;
  }

  #isFreeFor(callers: CallersOfName): boolean {
    return this.#holders < this.#limits.max && callers.holders < this.#limits.maxOfName;
  }

  /** @returns the function that releases. */
  #hold(name: string, callers: CallersOfName): () => void {
    this.#holders++;
    callers.holders++;
    // The name that was just served moves to the end.
    this.#names.delete(name);
    this.#names.set(name, callers);
    return () => this.#release(name, callers);
  }

  #release(name: string, callers: CallersOfName): void {
    this.#holders--;
    callers.holders--;
    this.#forgetIdle(name, callers);
    for (const next of this.#names.values()) {
      const [caller] = next.waiting;
      if (caller === undefined || !this.#isFreeFor(next)) continue;
      caller.goOn();
      return;
    }
  }

  #forgetIdle(name: string, callers: CallersOfName): void {
    if (callers.holders === 0 && callers.waiting.size === 0) this.#names.delete(name);
  }
}
