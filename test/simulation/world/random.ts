/**
 * Pseudo-random numbers that follow from a seed (sfc32, seeded by splitmix32). Each part of a run draws from a stream of
 * its own, so that what one part draws does not change what the others do.
 */
export class Random {
  readonly #seed: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
    this.#a = mix(seed);
    this.#b = mix(this.#a);
    this.#c = mix(this.#b);
    for (let round = 0; round < 8; round++) this.next();
  }

  /** A stream of its own, which follows from this one's seed and the name. */
  fork(name: string): Random {
    let hash = this.#seed ^ 0x811c9dc5;
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    return new Random(mix(hash));
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  }

  /** A whole number from 0 up to, and without, the end. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }
}

function mix(value: number): number {
  let mixed = (value + 0x9e3779b9) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
