import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";
import type { Sealer } from "../secrets/sealer.ts";

/** The driver sends bytes as text of twice the length, and PostgreSQL accepts texts of at most 1 GB. */
const MAX_PART_BYTES = 256 * 1024 * 1024;
/** By how much sealing lengthens a part: a head and a tag. */
export const SEAL_BYTES = 33;

/** What is sealed by itself of a response: the response without its output, the items of its request, and its output. */
export type Part = "head" | "input" | "output";

/** Seals the parts of stored responses, and opens them. */
export class SealedParts {
  readonly #sealer: Sealer;
  readonly #onUnreadable: () => void;
  #isUnreadableReported = false;

  /** `onUnreadable` is called once, when none of the keys opens a part. */
  constructor(sealer: Sealer, onUnreadable: () => void) {
    this.#sealer = sealer;
    this.#onUnreadable = onUnreadable;
  }

  /** @throws {Failure} `request_too_large`. */
  seal(accountId: AccountId, id: string, part: Part, value: JsonObject | readonly JsonObject[]): Buffer {
    const plain = Buffer.from(JSON.stringify(value));
    if (plain.length > MAX_PART_BYTES) {
      const message = "The response is too large to be stored. Set `store: false`.";
      throw new Failure("request_too_large", message, { param: "store" });
    }
    return this.#sealer.sealBytes(plain, contextOf(accountId, id, part));
  }

  /** The text that was sealed; `null` if there is none, or if none of the keys opens it. */
  open(accountId: AccountId, id: string, part: Part, sealed: Uint8Array | null): string | null {
    if (sealed === null) return null;
    const plain = this.#sealer.openBytes(sealed, contextOf(accountId, id, part));
    if (plain !== null) return plain.toString();
    if (!this.#isUnreadableReported) this.#onUnreadable();
    this.#isUnreadableReported = true;
    return null;
  }
}

/** Binds sealed content to its place, so that an attacker who can write to the table cannot pass it to another account. */
function contextOf(accountId: AccountId, id: string, part: Part): string {
  return `response\n${accountId}\n${part}\n${id}`;
}
