import pLimit, { type LimitFunction } from "p-limit";
import { Failure } from "../errors/failure.ts";
import { hashPassword, verifyPassword } from "../secrets/argon2.ts";
import { randomBase62 } from "../secrets/oslo.ts";

/** Argon2id takes 19 MiB and tens of milliseconds of a core. These bound what a flood of sign-ins can use: hashes at once, and callers. */
const AT_ONCE = 2;
const WAITING = 100;

/** Hashes and verifies passwords, a few at a time. */
export class Passwords {
  readonly #limit: LimitFunction = pLimit(AT_ONCE);
  #decoy: Promise<string> | null = null;

  constructor() {
    // Hashed in advance, because the first sign-in would otherwise take twice as long. If it fails, the first sign-in tries again.
    this.#decoyHash().catch(() => {});
  }

  /** @throws {Failure} `server_is_overloaded` when too many are waiting. */
  hash(password: string): Promise<string> {
    return this.#queued(() => hashPassword(password));
  }

  /**
   * @param hash `null` for a user that does not exist, for which the answer `false` takes as long.
   * @throws {Failure} `server_is_overloaded` when too many are waiting.
   */
  async verify(hash: string | null, password: string): Promise<boolean> {
    const matches = await this.#queued(async () =>
      verifyPassword(hash ?? (await this.#decoyHash()), password),
    );
    return matches && hash !== null;
  }

  /** Verified when the user does not exist, so that the answer takes as long as for a wrong password. A failure is not kept. */
  #decoyHash(): Promise<string> {
    this.#decoy ??= hashPassword(randomBase62(24)).catch((error) => {
      this.#decoy = null;
      throw error;
    });
    return this.#decoy;
  }

  async #queued<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#limit.pendingCount >= WAITING) {
      throw new Failure("server_is_overloaded", "Too many sign-ins are in progress. Try again shortly.", {
        retryAfterMs: 2_000,
      });
    }
    return this.#limit(work);
  }
}
