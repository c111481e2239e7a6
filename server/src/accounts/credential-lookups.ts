import { LRUCache } from "lru-cache";
import { Failure } from "../errors/failure.ts";
import { networkOf } from "../networks/networks.ts";
import { atMost } from "../resources/at-most.ts";
import { Buckets } from "./buckets.ts";

/** Look-ups per minute that find nothing, for each client address. Several people may share an address. */
const UNKNOWN_OF_ADDRESS = 600;
/** The maximum number of credentials that are remembered as valid. Beyond it the least recently used are forgotten. */
const MAX_VALID = 10_000;

/**
 * Looks up sessions, or management tokens. Each look-up reads the database, and anyone can make up credentials of the right form. So look-ups of
 * unknown credentials are limited for each client address, in this node's memory. Credentials that were valid at their last use are always looked up.
 */
export class CredentialLookups {
  readonly #kind: string;
  readonly #unknown: Buckets;
  readonly #valid = new LRUCache<string, true>(atMost(MAX_VALID));

  /**
   * Sessions and tokens have a limit each: a script with a token that was revoked does not keep users at its address from the dashboard.
   *
   * @param kind what the credentials are called in the message of a refusal.
   * @param monotonicMs milliseconds of a clock that never jumps.
   */
  constructor(kind: "sessions" | "management tokens", monotonicMs: () => number) {
    this.#kind = kind;
    this.#unknown = new Buckets(UNKNOWN_OF_ADDRESS, monotonicMs);
  }

  /** Remembers a credential that was just made. */
  issued(digest: Uint8Array): void {
    this.#valid.set(nameOf(digest), true);
  }

  /**
   * Returns what `read` finds for the credential.
   *
   * @param digest that of the credential.
   * @param address the client's; `null` when it is unknown.
   * @throws {Failure} `rate_limit_exceeded` when too many credentials from the address do not exist.
   */
  async find<Found>(
    digest: Uint8Array,
    address: string | null,
    read: () => Promise<Found | null>,
  ): Promise<Found | null> {
    const name = nameOf(digest);
    const network = networkOf(address);
    // Counted before it is read, so that concurrent look-ups count, too.
    const isCounted = this.#valid.get(name) === undefined;
    if (isCounted) this.#count(network);
    let isUnknown = false;
    try {
      const found = await read();
      isUnknown = found === null;
      if (isUnknown) this.#valid.delete(name);
      else this.#valid.set(name, true);
      return found;
    } finally {
      if (isCounted && !isUnknown) this.#unknown.give(network, 1);
    }
  }

  #count(network: string): void {
    const retryAfterMs = this.#unknown.take(network, 1);
    if (retryAfterMs === 0) return;
    throw new Failure(
      "rate_limit_exceeded",
      `More than ${UNKNOWN_OF_ADDRESS} ${this.#kind} per minute that do not exist came from this address. Retry after the time in \`retry-after\`.`,
      { retryAfterMs },
    );
  }
}

function nameOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString("base64");
}
