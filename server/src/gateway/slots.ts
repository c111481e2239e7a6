import type { RequestSignal } from "../upstream/request-signal.ts";

/** A number of places at an upstream, and a short queue for them. */
export class Slots {
  readonly #most: number;
  readonly #maxWaiting: number;
  readonly #patienceMs: number;
  #taken = 0;
  readonly #waiting: ((isFree: boolean) => void)[] = [];

  constructor(most: number, maxWaiting: number, patienceMs: number) {
    this.#most = most;
    this.#maxWaiting = maxWaiting;
    this.#patienceMs = patienceMs;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a place. @returns what gives it back, to be called once; `null` when there is none. */
  take(): (() => void) | null {
    if (this.#taken >= this.#most) return null;
    this.#taken++;
    return this.#giveBackOnce();
  }

  /** The same for who has nowhere else to go, when there is none: waits for one. @returns `null` when there is none in time. */
  async wait(signal: RequestSignal): Promise<(() => void) | null> {
    if (this.#waiting.length >= this.#maxWaiting || signal.aborted) return null;
    return (await this.#turn(signal)) ? this.#giveBackOnce() : null;
  }

  /** Resolves with a place that whoever had it before has handed on, or without one. */
  #turn(signal: RequestSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const decide = (isFree: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        resolve(isFree);
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(decide), 1);
        decide(false);
      };
      const timer = setTimeout(giveUp, this.#patienceMs);
      signal.addEventListener("abort", giveUp);
      this.#waiting.push(decide);
    });
  }

  #giveBackOnce(): () => void {
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken--;
      else next(true);
    };
  }
}
