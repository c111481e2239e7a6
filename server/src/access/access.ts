import { LRUCache } from "lru-cache";
import type { AdmissionStore } from "../admission/admission-store.ts";
import { Failure } from "../errors/failure.ts";
import type { KeySnapshot } from "../keys/key.ts";
import { digestOf } from "../secrets/digest.ts";
import { readBearer } from "./bearer.ts";

/** Where snapshots are read afresh. */
export interface KeyLookup {
  /** @returns `null` when there is no such key, active or revoked. */
  findKeyByDigest(digest: Uint8Array): Promise<KeySnapshot | null>;
}

/** Whose request it is, as far as a first look tells. Not yet a permission: that is {@link Access.confirm}. */
export interface Caller {
  readonly digest: string;
  readonly snapshot: KeySnapshot;
}

/** A request that may not pass although its key is somebody's: its owner wants to read of it. */
export class RefusedCaller extends Error {
  override readonly name = "RefusedCaller";
  readonly failure: Failure;
  readonly snapshot: KeySnapshot;

  constructor(failure: Failure, snapshot: KeySnapshot) {
    super(failure.message);
    this.failure = failure;
    this.snapshot = snapshot;
  }
}

const KEYS_CACHED = 100_000;
const UNKNOWN_CACHED = 100_000;
const READ_ATTEMPTS = 5;
const TRY_AGAIN_MS = 1_000;

/** Who may pass. */
export class Access {
  readonly #lookup: KeyLookup;
  readonly #admission: AdmissionStore;
  readonly #known = new LRUCache<string, KeySnapshot>({ max: KEYS_CACHED });
  /** Digests that are no key's. A random key string that does not exist never will. */
  readonly #unknown = new LRUCache<string, true>({ max: UNKNOWN_CACHED });

  constructor(lookup: KeyLookup, admission: AdmissionStore) {
    this.#lookup = lookup;
    this.#admission = admission;
    admission.onDoubt(() => this.#known.clear());
  }

  /**
   * Finds the caller of a request, without deciding whether they may pass.
   *
   * @throws {Failure} `invalid_api_key` when the header is not in form or the key is nobody's;
   *   `server_is_overloaded` when nobody can tell.
   */
  async identify(authorization: readonly string[]): Promise<Caller> {
    const digest = digestOf(readBearer(authorization)).toString("base64");
    if (this.#unknown.has(digest)) throw unknownKey();
    const snapshot = this.#known.get(digest) ?? (await this.#read(digest));
    return { digest, snapshot };
  }

  /**
   * Decides, by the account's present state, whether the caller may pass. Called once a request, when all that is
   * slow about it (its body) is in, so that no revocation answered in the meantime is missed.
   *
   * @returns the snapshot decided by.
   * @throws {RefusedCaller} revoked, suspended.
   * @throws {Failure} `server_is_overloaded` when nobody can tell.
   */
  async confirm(caller: Caller): Promise<KeySnapshot> {
    let { snapshot } = caller;
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const verdict = await vouched(() =>
        this.#admission.admit(snapshot.account.id, snapshot.account.version),
      );
      if (verdict === "admitted") {
        const refusal = refusalOf(snapshot);
        if (refusal !== null) throw new RefusedCaller(refusal, snapshot);
        return snapshot;
      }
      snapshot = await this.#read(caller.digest);
    }
    // The account changes faster than it can be read, or the store forgets as fast as it is told.
    throw overloaded();
  }

  async #read(digest: string): Promise<KeySnapshot> {
    return vouched(async () => {
      const bytes = Buffer.from(digest, "base64");
      const cached = this.#known.get(digest);
      // The epoch comes before the read. Of an account not seen before it is asked for after a first read.
      const account = cached?.account.id ?? (await this.#lookup.findKeyByDigest(bytes))?.account.id;
      if (account === undefined) {
        this.#unknown.set(digest, true);
        throw unknownKey();
      }
      const epoch = await this.#admission.epoch(account);
      const snapshot = await this.#lookup.findKeyByDigest(bytes);
      if (snapshot === null) throw unknownKey();
      if (await this.#admission.vouch(account, snapshot.account.version, epoch)) {
        this.#known.set(digest, snapshot);
      }
      return snapshot;
    });
  }
}

function refusalOf(snapshot: KeySnapshot): Failure | null {
  if (snapshot.key.state === "revoked") {
    return new Failure(
      "revoked_api_key",
      "The API key was revoked. Use another key of the account, or create one.",
    );
  }
  if (snapshot.account.state === "suspended") {
    return new Failure("account_suspended", "The account is suspended. Ask the operator of the service why.");
  }
  return null;
}

function unknownKey(): Failure {
  return new Failure(
    "invalid_api_key",
    "There is no such API key. Check it, or create one in the dashboard.",
  );
}

function overloaded(cause?: unknown): Failure {
  return new Failure(
    "server_is_overloaded",
    "The service can't check API keys just now. Try again shortly.",
    {
      retryAfterMs: TRY_AGAIN_MS,
      cause,
    },
  );
}

/** When the database or the admission store fails, nothing vouches for a key: the answer is 503, never a guess. */
async function vouched<Answer>(question: () => Promise<Answer>): Promise<Answer> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof Failure || error instanceof RefusedCaller) throw error;
    throw overloaded(error);
  }
}
