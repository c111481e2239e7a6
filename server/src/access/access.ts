import { LRUCache } from "lru-cache";
import type { IpRuleBook } from "../accounts/ip-rules.ts";
import { ipBlocked, suspended } from "../accounts/refusals.ts";
import type { AdmissionStore } from "../admission/admission-store.ts";
import type { AdmissionOutcome, Admissions, AdmittedRequest } from "../admission/admissions.ts";
import { rateHeaders } from "../admission/rate-headers.ts";
import type { AccountId } from "../contract/account.ts";
import type { KeyLookup, KeySnapshot, KeyUuid } from "../contract/key.ts";
import type { Limits } from "../contract/limits.ts";
import { withTimeout } from "../errors/deadline.ts";
import { type ErrorCode, Failure } from "../errors/failure.ts";
import { digestTextOf } from "../secrets/digest.ts";
import { readBearer, requireKeyForm } from "./bearer.ts";
import { SnapshotCache } from "./snapshot-cache.ts";

/** Tells key strings that were minted here from those that somebody made up. */
export interface KeyRecogniser {
  recognises(keyString: string): boolean;
}

/** Whose request it is, as far as a first look tells. Not yet a permission: that is {@link Access.authorize}. */
export interface Caller {
  readonly digest: string;
  readonly snapshot: KeySnapshot;
  /** How often the admission store had been in doubt when the snapshot was read. */
  readonly doubts: number;
}

/** A request may pass. */
export interface Permission {
  readonly snapshot: KeySnapshot;
  /** What a rule that only reports would have refused it with. */
  readonly wouldRefuse: ErrorCode | null;
  /** What the account's limits have let through; `null` where they were not asked. */
  readonly admitted: AdmittedRequest | null;
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

const UNKNOWN_CACHED = 10_000;
/** A database or admission store that takes longer is as good as away. */
const PATIENCE_MS = 5_000;
const READ_ATTEMPTS = 5;
const TRY_AGAIN_MS = 1_000;

export interface AccessParts {
  readonly lookup: KeyLookup;
  readonly admission: AdmissionStore;
  readonly admissions: Admissions;
  readonly limitsOf: (account: KeySnapshot["account"]) => Limits;
  readonly recogniser: KeyRecogniser;
  readonly ipRules: IpRuleBook;
}

/** Who may pass. */
export class Access {
  readonly #lookup: KeyLookup;
  readonly #admission: AdmissionStore;
  readonly #admissions: Admissions;
  readonly #limitsOf: AccessParts["limitsOf"];
  readonly #recogniser: KeyRecogniser;
  readonly #ipRules: IpRuleBook;
  readonly #known = new SnapshotCache();
  /** Digests that are no key's any more. A key string that does not exist never will. */
  readonly #unknown = new LRUCache<string, true>({ max: UNKNOWN_CACHED });
  readonly #reading = new Map<string, Promise<Caller>>();
  #doubts = 0;

  constructor({ lookup, admission, admissions, limitsOf, recogniser, ipRules }: AccessParts) {
    this.#lookup = lookup;
    this.#admission = admission;
    this.#admissions = admissions;
    this.#limitsOf = limitsOf;
    this.#recogniser = recogniser;
    this.#ipRules = ipRules;
    admission.onDoubt(() => {
      this.#doubts++;
      this.#known.clear();
    });
  }

  /**
   * Finds the caller of a request, without deciding whether they may pass: at once where their key is known.
   *
   * @throws {Failure} `invalid_api_key` when the header is not in form or the key is nobody's;
   *   `server_is_overloaded` when nobody can tell.
   */
  authenticate(authorization: readonly string[]): Caller | Promise<Caller> {
    const keyString = readBearer(authorization);
    const digest = digestTextOf(keyString);
    const known = this.#knownCaller(digest);
    // What has a known key's digest is that key, and has its form.
    if (known !== null) return known;
    requireKeyForm(keyString);
    if (!this.#recogniser.recognises(keyString) || this.#unknown.has(digest)) throw unknownKey();
    return this.#read(digest);
  }

  /**
   * Finds the caller of a request that is made as a key of the account, by whoever may name the key instead of showing it.
   *
   * @returns `null` when the account has no such key.
   * @throws {Failure} `server_is_overloaded` when nobody can tell.
   */
  async authenticateAs(accountId: AccountId, id: KeyUuid): Promise<Caller | null> {
    const found = await withTimeout(PATIENCE_MS, () => this.#lookup.findDigest(accountId, id)).catch(
      unvouched,
    );
    if (found === null) return null;
    const digest = Buffer.from(found).toString("base64");
    return this.#knownCaller(digest) ?? this.#read(digest);
  }

  /**
   * Decides, by the account's present state, whether the caller may pass. Called once a request, when all that is
   * slow about it (its body) is in, so that no change answered in the meantime is missed.
   *
   * @param address the client's; `null` when it could not be told.
   * @param tokens what the request is estimated to take of the account's limits; `null` when they do not bear on it.
   * @throws {RefusedCaller} revoked, suspended, from an address outside the rules, over a limit; in this order.
   * @throws {Failure} `server_is_overloaded` when nobody can tell.
   */
  async authorize(caller: Caller, address: string | null, tokens: number | null = null): Promise<Permission> {
    let present = caller;
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const { snapshot, doubts } = present;
      const { account } = snapshot;
      const decision = this.#decide(snapshot, address);
      // A request that is refused anyway takes nothing of the limits.
      if (tokens === null || decision.refusal !== null) {
        const verdict = await this.#admission.check(account.id, account.version).catch(unvouched);
        // A store that was lost since the snapshot was read may have come back with an older state, and agree with it.
        if (verdict === "current" && doubts === this.#doubts) return passed(snapshot, decision, null);
      } else {
        const limits = this.#limitsOf(account);
        const outcome = await this.#admissions
          .admit(account.id, account.version, limits, tokens)
          .catch(unvouched);
        if (outcome.kind === "limited") throw new RefusedCaller(limited(outcome, limits), snapshot);
        if (outcome.kind === "admitted") {
          if (doubts === this.#doubts) return passed(snapshot, decision, outcome.request);
          await outcome.request.cancel();
        }
      }
      present = await this.#read(caller.digest);
    }
    // The account changes faster than it can be read, or the store forgets as fast as it is told.
    throw overloaded();
  }

  /** Whether the caller may not pass, as far as their snapshot tells, which may be old. */
  seemsRefused(caller: Caller, address: string | null): boolean {
    return this.#decide(caller.snapshot, address).refusal !== null;
  }

  /** What the account may use, as far as the caller's snapshot tells. */
  limitsOf(account: KeySnapshot["account"]): Limits {
    return this.#limitsOf(account);
  }

  /** Drops what was not used for a while. To be called now and then. */
  dropIdle(): void {
    this.#known.dropIdle();
  }

  #knownCaller(digest: string): Caller | null {
    const snapshot = this.#known.get(digest);
    // The cache is emptied at every doubt: what is in it was read since.
    return snapshot === undefined ? null : { digest, snapshot, doubts: this.#doubts };
  }

  #decide(snapshot: KeySnapshot, address: string | null): Decision {
    if (snapshot.key.state === "revoked") return { refusal: revoked(), wouldRefuse: null };
    if (snapshot.account.state === "suspended") return { refusal: suspended(), wouldRefuse: null };
    const verdict = this.#ipRules.judge(snapshot.account, address);
    if (verdict === "blocked") return { refusal: ipBlocked(address), wouldRefuse: null };
    return { refusal: null, wouldRefuse: verdict === "reported" ? "ip_blocked" : null };
  }

  /** Reads the database. Requests of one key that need it at once share a read; {@link authorize} judges its age. */
  #read(digest: string): Promise<Caller> {
    const running = this.#reading.get(digest);
    if (running !== undefined) return running;
    const reading = this.#readAlone(digest).finally(() => this.#reading.delete(digest));
    this.#reading.set(digest, reading);
    return reading;
  }

  async #readAlone(digest: string): Promise<Caller> {
    const read = async () => {
      const doubts = this.#doubts;
      const bytes = Buffer.from(digest, "base64");
      // The epoch comes before the read. Of an account not seen before it is asked for after a first read.
      const account =
        this.#known.accountOf(digest) ?? (await this.#lookup.findKeyByDigest(bytes))?.account.id;
      if (account === undefined) throw this.#isUnknown(digest);
      const epoch = await this.#admission.epoch(account);
      const snapshot = await this.#lookup.findKeyByDigest(bytes);
      if (snapshot === null) throw this.#isUnknown(digest);
      const believed = await this.#admission.vouch(account, snapshot.account.version, epoch);
      const isCertain = believed && doubts === this.#doubts;
      return { digest, snapshot: isCertain ? this.#known.set(digest, snapshot) : snapshot, doubts };
    };
    return withTimeout(PATIENCE_MS, read).catch(unvouched);
  }

  #isUnknown(digest: string): Failure {
    this.#known.delete(digest);
    this.#unknown.set(digest, true);
    return unknownKey();
  }
}

/** What a snapshot says, if it is still good. */
interface Decision {
  readonly refusal: Failure | null;
  readonly wouldRefuse: ErrorCode | null;
}

function passed(snapshot: KeySnapshot, decision: Decision, admitted: AdmittedRequest | null): Permission {
  if (decision.refusal !== null) throw new RefusedCaller(decision.refusal, snapshot);
  return { snapshot, wouldRefuse: decision.wouldRefuse, admitted };
}

function revoked(): Failure {
  return new Failure(
    "revoked_api_key",
    "The API key was revoked. Use another key of the account, or create one.",
  );
}

function limited(
  { by, retryAfterMs, rates }: Extract<AdmissionOutcome, { kind: "limited" }>,
  limits: Limits,
): Failure {
  const headers = rateHeaders(rates);
  if (by === "concurrency") {
    return new Failure(
      "too_many_concurrent_requests",
      `Limit of ${limits.concurrentRequests} concurrent requests reached. Retry when one of them has ended.`,
      { retryAfterMs, headers },
    );
  }
  const allowed =
    by === "requests" ? `${limits.requestsPerMinute} requests` : `${limits.tokensPerMinute} tokens`;
  return new Failure(
    "rate_limit_exceeded",
    `Rate limit of ${allowed} per minute reached. Retry in ${Math.ceil(retryAfterMs / 1_000)} s.`,
    { retryAfterMs, headers },
  );
}

function unknownKey(): Failure {
  return new Failure("invalid_api_key", "No such API key exists. Check it, or create one in the dashboard.");
}

function overloaded(cause?: unknown): Failure {
  return new Failure(
    "server_is_overloaded",
    "The service cannot check API keys at the moment. Try again shortly.",
    {
      retryAfterMs: TRY_AGAIN_MS,
      cause,
    },
  );
}

/** When the database or the admission store fails, nothing vouches for a key: the answer is 503, never a guess. */
function unvouched(error: unknown): never {
  if (error instanceof Failure || error instanceof RefusedCaller) throw error;
  throw overloaded(error);
}
