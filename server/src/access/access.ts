import { LRUCache } from "lru-cache";
import type { IpRuleBook } from "../accounts/ip-rules.ts";
import { ipBlocked, suspended } from "../accounts/refusals.ts";
import type { AdmissionOutcome, Admissions, AdmittedRequest } from "../admission/admissions.ts";
import { rateHeaders } from "../admission/rate-headers.ts";
import type { AccountId } from "../contract/account.ts";
import type { KeyLookup, KeySnapshot, KeyUuid } from "../contract/key.ts";
import type { Limits } from "../contract/limits.ts";
import { withTimeout } from "../errors/deadline.ts";
import { type ErrorCode, Failure } from "../errors/failure.ts";
import { type KeyMint, macOf } from "../keys/key-string.ts";
import { atMost } from "../resources/at-most.ts";
import { digestTextOf } from "../secrets/digest.ts";
import { type AcceptedCredential, readBearer, requireKeyForm } from "./bearer.ts";
import { SnapshotCache } from "./snapshot-cache.ts";

/** The caller of a request with an API key, by a snapshot that may be old. {@link Access.authorize} decides whether the request is allowed. */
export interface KeyCaller {
  readonly digest: string;
  readonly snapshot: KeySnapshot;
  /** How often the admission store had invalidated its earlier answers when the snapshot was read. */
  readonly invalidations: number;
}

/** The outcome of an authorized request. */
export interface Permission {
  readonly snapshot: KeySnapshot;
  /** The code with which a rule in report mode would have refused the request. */
  readonly wouldRefuse: ErrorCode | null;
  /** The admitted request; `null` where limits do not apply. */
  readonly admitted: AdmittedRequest | null;
}

/** The refusal of a request with a known key. It is recorded in the audit log of the key's account. */
export class RefusedCaller extends Error {
  override readonly name = "RefusedCaller";
  readonly failure: Failure;
  readonly snapshot: KeySnapshot;
  /** As {@link Permission.wouldRefuse}, of a request that was refused for a limit. */
  readonly wouldRefuse: ErrorCode | null;

  constructor(failure: Failure, snapshot: KeySnapshot, wouldRefuse: ErrorCode | null = null) {
    super(failure.message);
    this.failure = failure;
    this.snapshot = snapshot;
    this.wouldRefuse = wouldRefuse;
  }
}

const MAX_UNKNOWN_CACHED = 10_000;
const MAX_ACCOUNTS_CACHED = 100_000;
/** A database or admission store that takes longer counts as unavailable. */
const READ_TIMEOUT_MS = 5_000;
const READ_ATTEMPTS = 5;
const RETRY_AFTER_MS = 1_000;
/**
 * A limit per minute may last for 61 seconds. OpenAI's library for JavaScript ignores a wait of more than 60 seconds, and the AI SDK one of
 * 60: they use up their retries within seconds instead. A client that retries after this wait gets the rest of it in the next answer.
 */
const MAX_WAIT_MS = 59_000;

interface AccessParts {
  readonly lookup: KeyLookup;
  readonly admissions: Admissions;
  readonly limitsOf: (account: KeySnapshot["account"]) => Limits;
  readonly mint: Pick<KeyMint, "hasMinted">;
  readonly ipRules: IpRuleBook;
}

/** Authenticates and authorizes requests by API key. */
export class Access {
  readonly #parts: AccessParts;
  readonly #known = new SnapshotCache();
  /** The accounts of keys by the digests of their strings. A key never changes its account, so they stay when snapshots are dropped. */
  readonly #accounts = new LRUCache<string, AccountId>(atMost(MAX_ACCOUNTS_CACHED));
  /** The accounts by {@link macOf} of the strings, for {@link accountIfKnown}: computing a digest would cost a tenth of a refusal. */
  readonly #accountsByMac = new LRUCache<string, AccountId>(atMost(MAX_ACCOUNTS_CACHED));
  /** Digests of key strings that do not exist. A key string that does not exist never will. */
  readonly #unknown = new LRUCache<string, true>(atMost(MAX_UNKNOWN_CACHED));
  readonly #reading = new Map<string, Promise<KeyCaller>>();
  #invalidations = 0;

  constructor(parts: AccessParts) {
    this.#parts = parts;
    parts.admissions.onInvalidated(() => {
      this.#invalidations++;
      this.#known.clear();
    });
  }

  /**
   * Finds the caller of a request, synchronously if the key is cached. It does not decide whether the request is allowed.
   *
   * @param accepted What the caller may send, for the message about a malformed header.
   * @throws {Failure} `invalid_api_key` when the header is malformed or the key does not exist;
   *   `server_is_overloaded` when the key cannot be checked.
   */
  authenticate(
    authorization: readonly string[],
    accepted: AcceptedCredential = "key",
  ): KeyCaller | Promise<KeyCaller> {
    const keyString = readBearer(authorization, accepted);
    const digest = digestTextOf(keyString);
    const known = this.#knownCaller(digest);
    // A string with the digest of a known key is that key, so its form need not be checked.
    if (known !== null) return known;
    requireKeyForm(keyString);
    if (!this.#parts.mint.hasMinted(keyString) || this.#unknown.has(digest)) throw unknownKey();
    return this.#readKey(keyString, digest);
  }

  /**
   * The account of a request's key if the key was read before, and `null` otherwise. Use it only to share capacity between accounts:
   * it decides neither whether the text is that key nor whether the key may be used.
   */
  accountIfKnown([value = "", ...others]: readonly string[]): AccountId | null {
    return others.length === 0 ? (this.#accountsByMac.get(macOf(value)) ?? null) : null;
  }

  /**
   * Finds the caller of a request that names a key of the account by its id, such as one from the playground.
   *
   * @returns `null` when the account has no such key.
   * @throws {Failure} `server_is_overloaded` when the key cannot be checked.
   */
  async authenticateAs(accountId: AccountId, id: KeyUuid): Promise<KeyCaller | null> {
    const found = await withTimeout(READ_TIMEOUT_MS, () =>
      this.#parts.lookup.findDigest(accountId, id),
    ).catch(rethrowUnavailable);
    if (found === null) return null;
    const digest = Buffer.from(found).toString("base64");
    return this.#knownCaller(digest) ?? this.#read(digest);
  }

  /**
   * Decides by the account's current state whether the request is allowed. It does not count against the account's limits.
   *
   * @param address the client's; `null` when it is unknown.
   * @throws {RefusedCaller} revoked, suspended, from an address outside the rules; in this order.
   * @throws {Failure} `server_is_overloaded` when the key cannot be checked.
   */
  async authorize(caller: KeyCaller, address: string | null): Promise<Permission> {
    let present = caller;
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const { snapshot } = present;
      const { refusal, wouldRefuse } = this.#decide(snapshot, address);
      if (await this.#isCurrent(present)) {
        if (refusal !== null) throw new RefusedCaller(refusal, snapshot);
        return { snapshot, wouldRefuse, admitted: null };
      }
      present = await this.#read(caller.digest);
    }
    throw cannotCheckKeys();
  }

  /**
   * Decides as {@link authorize}, and admits the request within the account's limits. Call it once, after the body has arrived, so that it misses no
   * change that was answered in the meantime.
   *
   * @param tokens the estimate that counts against the account's limits; 0 when the limit on tokens does not apply.
   * @throws {RefusedCaller} as {@link authorize}, and over a limit.
   * @throws {Failure} as {@link authorize}.
   */
  async authorizeAndAdmit(caller: KeyCaller, address: string | null, tokens: number): Promise<Permission> {
    let present = caller;
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const { snapshot, invalidations } = present;
      const { refusal, wouldRefuse } = this.#decide(snapshot, address);
      if (refusal !== null) {
        // A request that is refused anyway does not count against the limits.
        if (await this.#isCurrent(present)) throw new RefusedCaller(refusal, snapshot);
      } else {
        const { account } = snapshot;
        const limits = limitsFor(this.#parts.limitsOf(account), tokens);
        let outcome: AdmissionOutcome;
        try {
          const admitting = this.#parts.admissions.admit(account.id, account.version, limits, tokens);
          outcome = admitting instanceof Promise ? await admitting : admitting;
        } catch (error) {
          rethrowUnavailable(error);
        }
        if (outcome.kind === "limited")
          throw new RefusedCaller(limited(outcome, limits), snapshot, wouldRefuse);
        if (outcome.kind === "admitted") {
          if (invalidations === this.#invalidations)
            return { snapshot, wouldRefuse, admitted: outcome.request };
          await outcome.request.cancel();
        }
      }
      present = await this.#read(caller.digest);
    }
    throw cannotCheckKeys();
  }

  /** Whether the caller would be refused by their snapshot, which may be old. */
  seemsRefused(caller: KeyCaller, address: string | null): boolean {
    return this.#decide(caller.snapshot, address).refusal !== null;
  }

  /** The account's limits: its own, or those of its plan. */
  limitsOf(account: KeySnapshot["account"]): Limits {
    return this.#parts.limitsOf(account);
  }

  /** Drops snapshots that were not used for a while. A background job calls it every minute. */
  dropIdle(): void {
    this.#known.dropIdle();
  }

  #knownCaller(digest: string): KeyCaller | null {
    const snapshot = this.#known.get(digest);
    // The cache is cleared at every invalidation, so its snapshots were read after the last one.
    return snapshot === undefined ? null : { digest, snapshot, invalidations: this.#invalidations };
  }

  /** Whether the store has no newer version of the account. @throws {Failure} `server_is_overloaded` when it does not answer. */
  #isCurrent({ snapshot: { account }, invalidations }: KeyCaller): Promise<boolean> {
    return this.#parts.admissions.check(account.id, account.version).then(
      // A store that was lost since the snapshot was read may have come back with an older state that agrees with it.
      (verdict) => verdict === "current" && invalidations === this.#invalidations,
      rethrowUnavailable,
    );
  }

  #decide(snapshot: KeySnapshot, address: string | null): Decision {
    if (snapshot.key.state === "revoked") return { refusal: revoked(), wouldRefuse: null };
    if (snapshot.account.state === "suspended") return { refusal: suspended(), wouldRefuse: null };
    const verdict = this.#parts.ipRules.judge(snapshot.account, address);
    if (verdict === "blocked") return { refusal: ipBlocked(address), wouldRefuse: null };
    return { refusal: null, wouldRefuse: verdict === "reported" ? "ip_blocked" : null };
  }

  async #readKey(keyString: string, digest: string): Promise<KeyCaller> {
    const mac = macOf(keyString);
    this.#accountsByMac.delete(mac);
    const caller = await this.#read(digest);
    this.#accountsByMac.set(mac, caller.snapshot.account.id);
    return caller;
  }

  /** Reads the key's snapshot. Concurrent requests of one key share a read; {@link authorize} checks its age. */
  #read(digest: string): Promise<KeyCaller> {
    const running = this.#reading.get(digest);
    if (running !== undefined) return running;
    const reading = this.#readDatabase(digest).finally(() => this.#reading.delete(digest));
    this.#reading.set(digest, reading);
    return reading;
  }

  async #readDatabase(digest: string): Promise<KeyCaller> {
    const read = async () => {
      const invalidations = this.#invalidations;
      const bytes = Buffer.from(digest, "base64");
      // The epoch must be read before the snapshot. For an account not seen before, a first read finds the account.
      const account =
        this.#accounts.get(digest) ?? (await this.#parts.lookup.findKeyByDigest(bytes))?.account.id;
      if (account === undefined) throw this.#rememberUnknown(digest);
      this.#accounts.set(digest, account);
      const epoch = await this.#parts.admissions.epoch(account);
      const snapshot = await this.#parts.lookup.findKeyByDigest(bytes);
      if (snapshot === null) throw this.#rememberUnknown(digest);
      const isCommitted = await this.#parts.admissions.commitRead(account, snapshot.account.version, epoch);
      const isCertain = isCommitted && invalidations === this.#invalidations;
      return { digest, snapshot: isCertain ? this.#known.set(digest, snapshot) : snapshot, invalidations };
    };
    return withTimeout(READ_TIMEOUT_MS, read).catch(rethrowUnavailable);
  }

  #rememberUnknown(digest: string): Failure {
    this.#known.delete(digest);
    this.#accounts.delete(digest);
    this.#unknown.set(digest, true);
    return unknownKey();
  }
}

/** The decision by a snapshot, valid if the snapshot is current. */
interface Decision {
  readonly refusal: Failure | null;
  readonly wouldRefuse: ErrorCode | null;
}

/** The limits that apply to a request with an estimate of tokens. */
function limitsFor(limits: Limits, tokens: number): Limits {
  return tokens === 0 ? { ...limits, tokensPerMinute: null } : limits;
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
  const headers = Object.assign({}, ...rateHeaders(rates));
  if (by === "concurrency") {
    return new Failure(
      "too_many_concurrent_requests",
      `Limit of ${limits.concurrentRequests} concurrent requests reached. Retry when one of them has ended.`,
      { retryAfterMs, headers },
    );
  }
  const allowed =
    by === "requests" ? `${limits.requestsPerMinute} requests` : `${limits.tokensPerMinute} tokens`;
  const waitMs = Math.min(retryAfterMs, MAX_WAIT_MS);
  return new Failure(
    "rate_limit_exceeded",
    `Rate limit of ${allowed} per minute reached. Retry in ${Math.ceil(waitMs / 1_000)} s.`,
    { retryAfterMs: waitMs, headers },
  );
}

function unknownKey(): Failure {
  return new Failure("invalid_api_key", "No such API key exists. Check it, or create one in the dashboard.");
}

/** The account changes faster than it can be read, or the store forgets each committed read, or it does not answer: then that is the cause. */
function cannotCheckKeys(cause?: unknown): Failure {
  return new Failure(
    "server_is_overloaded",
    "The service cannot check API keys at the moment. Try again shortly.",
    {
      retryAfterMs: RETRY_AFTER_MS,
      cause,
    },
  );
}

/** When the database or the admission store fails, no key can be checked: the answer is 503, never a guess. */
function rethrowUnavailable(error: unknown): never {
  if (error instanceof Failure || error instanceof RefusedCaller) throw error;
  throw cannotCheckKeys(error);
}
