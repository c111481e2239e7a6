import type { RequestSignal } from "../errors/request-signal.ts";

/** The concurrency slots of an upstream, and a short queue for them. */
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

  /** Takes a slot. @returns a function that releases it; `null` if all slots are taken. */
  take(): (() => void) | null {
    if (this.#taken >= this.#maxTaken) return null;
    this.#taken++;
    return this.#releaseOnce();
  }

  /** Waits for a slot. @returns a function that releases it; `null` on timeout or abort, or at once if too many wait already. */
  async wait(signal: RequestSignal): Promise<(() => void) | null> {
    if (this.#waiting.length >= this.#maxWaiting || signal.aborted) return null;
    return (await this.#nextFreed(signal)) ? this.#releaseOnce() : null;
  }

  /** Resolves with whether a released slot was passed on to this request. */
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
