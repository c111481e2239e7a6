import { v7 as uuidv7 } from "uuid";
import type { EntryId } from "../contract/entry.ts";

const ID_BYTES = 16;
const IDS_AT_ONCE = 256;

/**
 * Ids of requests: UUIDv7 (RFC 9562), in order within this process. Random bytes are fetched for many at once: to ask for 16
 * of them costs more than all else about an id.
 */
export class EntryIds {
  readonly #nowMs: () => number;
  readonly #random = new Uint8Array(ID_BYTES * IDS_AT_ONCE);
  #used = this.#random.length;
  #ms = Number.NEGATIVE_INFINITY;
  /** 32 bits, counted up within a millisecond from a random beginning (RFC 9562, section 6.2, method 1). */
  #seq = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  next(): EntryId {
    const random = this.#randomBytes();
    const now = this.#nowMs();
    if (now > this.#ms) {
      this.#ms = now;
      // The highest bit is left clear, as room to count up in.
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
