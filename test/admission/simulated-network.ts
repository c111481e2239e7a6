/** Random numbers that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Messages in transit, delivered in random order: requests to a server and its answers. */
export class Network {
  readonly #random: () => number;
  readonly #waiting: (() => void)[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  get isQuiet(): boolean {
    return this.#waiting.length === 0;
  }

  later(act: () => void): void {
    this.#waiting.push(act);
  }

  /** Asks a server: the question takes effect at some time, and its answer comes at a later one. */
  ask<Answer>(effect: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.later(() => {
        try {
          const answer = effect();
          this.later(() => resolve(answer));
        } catch (error) {
          this.later(() => reject(error));
        }
      });
    });
  }

  /** Performs one of the waiting effects, and everything that follows without the network. */
  async step(): Promise<void> {
    const [act] = this.#waiting.splice(Math.floor(this.#random() * this.#waiting.length), 1);
    act?.();
    await settle();
  }
}

/** Resolves when nothing more happens without the network. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
