import type { RequestSignal } from "../upstream/request-signal.ts";

/** A number of places at an upstream, and a short queue for them. */
export class Slots {
  readonly #maxTaken: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  #taken = 0;
  readonly #waiting: ((isFree: boolean) => void)[] = [];

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

  /** Takes a place. @returns what gives it back, to be called once; `null` when there is none. */
  take(): (() => void) | null {
    if (this.#taken >= this.#maxTaken) return null;
    this.#taken++;
    return this.#releaseOnce();
  }

  /** The same for who has nowhere else to go, when there is none: waits for one. @returns `null` when there is none in time. */
  async wait(signal: RequestSignal): Promise<(() => void) | null> {
    if (this.#waiting.length >= this.#maxWaiting || signal.aborted) return null;
    return (await this.#nextFreed(signal)) ? this.#releaseOnce() : null;
  }

  /** Resolves with a place that whoever had it before has handed on, or without one. */
  #nextFreed(signal: RequestSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const decide = (isFree: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stopWaiting);
        resolve(isFree);
      };
      const stopWaiting = () => {
        this.#waiting.splice(this.#waiting.indexOf(decide), 1);
        decide(false);
      };
      const timer = setTimeout(stopWaiting, this.#timeoutMs);
      signal.addEventListener("abort", stopWaiting);
      this.#waiting.push(decide);
    });
  }

  #releaseOnce(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken--;
      else next(true);
    };
  }
}
