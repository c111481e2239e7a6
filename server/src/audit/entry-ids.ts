import { v7 as uuidv7 } from "uuid";
import type { EntryId } from "../contract/entry.ts";

const ID_BYTES = 16;
const IDS_AT_ONCE = 256;

/**
 * Generates ids of requests: UUIDv7 (RFC 9562), ascending within this process. It fetches random bytes for many ids at once,
 * because fetching 16 of them costs more than the rest of an id.
 */
export class EntryIds {
  readonly #nowMs: () => number;
  readonly #random = new Uint8Array(ID_BYTES * IDS_AT_ONCE);
  #used = this.#random.length;
  #ms = Number.NEGATIVE_INFINITY;
  /** A 32-bit counter that starts at a random value in each millisecond (RFC 9562, section 6.2, method 1). */
  #seq = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  next(): EntryId {
    const random = this.#randomBytes();
    const now = this.#nowMs();
    if (now > this.#ms) {
      this.#ms = now;
      // The highest bit stays clear, so that the counter can't overflow.
      this.#seq = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
    } else this.#seq++;
    return uuidv7({ random, msecs: this.#ms, seq: this.#seq }) as EntryId;
  }

  #randomBytes(): Uint8Array {
    if (this.#used === this.#random.length) {
      crypto.getRandomValues(this.#random);
      this.#used = 0;
    }
    const bytes = this.#random.subarray(this.#used, this.#used + ID_BYTES);
    this.#used += ID_BYTES;
    return bytes;
  }
}
