import { setImmediate } from "node:timers/promises";
import type { Json } from "./json.ts";
import { type ScanLimits, scanObject } from "./json-text.ts";

/** The maximum of {@link ScanLimits.numerals} in a body or an answer. A batch of embeddings may have 2,048 texts. */
export const MAX_NUMERALS = 4_000;

/**
 * The limits of a body. No real request exceeds them, including a batch of embeddings as tokens. The depth suits every recursive
 * reader. The other limits keep the time to parse and check a body below some tenths of a second: a name, or a short
 * text, that was not seen before costs a hundred times as much as a number. A numeral may cost as much as all others before it: Node before 20.20.2,
 * 22.22.2 and 24.14.1 (CVE-2026-21717), and Deno, keep short texts in a hash table in which a sender can make numerals collide.
 */
export const BODY_LIMITS: ScanLimits = {
  depth: 128,
  values: 4_000_000,
  containers: 200_000,
  names: 100_000,
  strings: 400_000,
  numerals: MAX_NUMERALS,
  members: 1_000,
};

/** Characters that are parsed before other work gets a turn. */
const SLICE_CHARACTERS = 256 * 1024;

/** Parses the texts that a request consists of: its body, and what it refers to. Together they stay within the limits of one body. */
export class BoundedParser {
  #left: ScanLimits;
  #slice = 0;

  constructor(limits: ScanLimits = BODY_LIMITS) {
    this.#left = limits;
  }

  /**
   * Counts a text that is parsed elsewhere. One that is not JSON counts nothing: parsing it fails before it is beyond the limits.
   *
   * @returns whether all texts so far are within the limits.
   */
  count(text: string): boolean {
    return this.measure(text) !== "too-much";
  }

  /** As {@link count}. `broken`: the text is certainly not JSON. Those who refuse nothing at the first such text need not parse it, as it counts nothing. */
  measure(text: string): "counted" | "broken" | "too-much" {
    // The scanner takes an object, and a text may be an array. The object costs one container and one name.
    const scanned = scanObject(`{"":${text}}`, this.#left);
    if (scanned.kind === "other") return "broken";
    if (scanned.kind !== "object") return "too-much";
    const { values, containers, names, strings, numerals } = scanned.size;
    this.#left = {
      ...this.#left,
      values: this.#left.values - values,
      containers: this.#left.containers - containers,
      names: this.#left.names - names,
      strings: this.#left.strings - strings,
      numerals: this.#left.numerals - numerals,
    };
    return "counted";
  }

  /**
   * Parses a text that is JSON. Other work gets a turn after every 256 KiB.
   *
   * @returns `undefined` when the texts together exceed the limits; this one is then not parsed.
   */
  async parse(text: string): Promise<Json | undefined> {
    this.#slice += text.length;
    if (this.#slice > SLICE_CHARACTERS) {
      this.#slice = 0;
      await setImmediate();
    }
    return this.count(text) ? (JSON.parse(text) as Json) : undefined;
  }
}
