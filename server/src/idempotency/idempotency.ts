import { createHash } from "node:crypto";
import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import type { ClaimId, IdempotencyRecord, KeptAnswer } from "../contract/kept-answer.ts";
import { withAnswerTimeout } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import { dropOldest } from "../resources/make-room.ts";
import { SEALED_TEXT_PREFIX, type Sealer } from "../secrets/sealer.ts";
import { DatabaseTime } from "./database-time.ts";

/** The retention of an answer. */
export const KEPT_MS = DAY_MS;
/** Longer answers are not stored. */
export const MAX_ANSWER_CHARACTERS = 1024 * 1024;
/** A claim that its node has not renewed for this long can be taken over. */
export const CLAIM_LEASE_MS = 60_000;
/** The interval between two renewals of a node's claims. */
const RENEWED_EVERY_MS = CLAIM_LEASE_MS / 4;
/** Beyond this number the oldest are dropped: their claims end with their leases. */
const MAX_UNRELEASED = 10_000;
/** Claims that one statement releases. */
const RELEASED_AT_ONCE = 1_000;
/** How often the release of a claim without an answer is repeated, a second apart: the claim may reach the database that much later. */
const LATE_RELEASES = 60;
/** Beyond this number the oldest are dropped: their claims end with their leases. */
const MAX_LATE = RELEASED_AT_ONCE;
/** The maximum size of all encrypted answers that wait for the database. Beyond it only the fact is stored that a request was answered. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;

/** A request with an idempotency key, identified by digests: neither the key nor the body is stored. */
export interface IdempotentRequest {
  readonly accountId: AccountId;
  /** SHA-256 of the endpoint and the idempotency key. */
  readonly idempotencyKeyDigest: Uint8Array;
  /** SHA-256 of the body as it was sent. */
  readonly bodyDigest: Uint8Array;
}

/**
 * The outcome of a claim. `running`: another claim holds the request; `differs`: the key was used with another body; `answered` with
 * `null`: the answer was not stored.
 */
export type ClaimOutcome =
  | { readonly kind: "claimed" }
  | { readonly kind: "running" }
  | { readonly kind: "differs" }
  | { readonly kind: "answered"; readonly answer: KeptAnswer | null };

/**
 * What a new request may replace: claims that were renewed, and answers whose requests began, before these times. The database's clock has to
 * say so, too.
 */
export interface Replaceable {
  readonly renewedBefore: Date;
  readonly createdBefore: Date;
}

/** The database, which holds the claims of all nodes. */
export interface IdempotencyStore {
  /** Claims the request for this node, unless it is known. */
  claim(request: IdempotentRequest, claim: ClaimId, replaceable: Replaceable): Promise<ClaimOutcome>;
  /** Deletes the claims of requests that failed. */
  release(claims: readonly ClaimId[]): Promise<void>;
  /** Extends the leases of claims whose requests are not answered yet. */
  renew(claims: readonly ClaimId[]): Promise<void>;
  /** The time by the database's clock. */
  now(): Promise<Date>;
}

interface IdempotencyClocks {
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** The node's time, in milliseconds since 1970. */
  readonly wallMs: () => number;
}

/** A request that this node has claimed. */
export interface Claim {
  readonly id: ClaimId;
  /** Returns what the entry of the answered request carries. Call it once: the length of the answer counts until {@link Idempotency.forget}. */
  answered(answer: KeptAnswer | null): IdempotencyRecord;
  /** Ends the claim of a request that failed, so that it is executed when it is sent again. Waits 5 seconds at most. */
  release(): Promise<void>;
}

/** What a request with an idempotency key is to be answered with: by executing it, or the answer that it had before. */
type ClaimResult =
  | { readonly kind: "claimed"; readonly claim: Claim }
  | { readonly kind: "answered"; readonly answer: KeptAnswer };

/** A claim of a request that is being answered, or whose answer is not in the database yet. */
interface HeldClaim {
  readonly request: IdempotentRequest;
  /** The length of the encrypted answer; 0 before it is known. */
  answerLength: number;
}

/** Executes requests with an idempotency key once, however often they are sent. */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #sealer: Sealer;
  /** Claims of this node whose answers are not in the database yet. */
  readonly #claims = new Map<ClaimId, HeldClaim>();
  /** The requests of these claims. The database may take a claim for one that has ended, if it could not be renewed in time. */
  readonly #running = new Map<string, IdempotentRequest>();
  /** Released claims that may still be in the database. */
  readonly #unreleased = new Set<ClaimId>();
  /** Claims that the database did not answer, with the number of releases that are left: they may reach it after a release. */
  readonly #late = new Map<ClaimId, number>();
  #waitingCharacters = 0;
  readonly #clocks: IdempotencyClocks;
  /** Other nodes renew their claims several times while this time does not follow a jump of the database's clock. */
  readonly #databaseTime: DatabaseTime;
  /** When claims were last renewed. */
  #renewedMs = Number.NEGATIVE_INFINITY;

  /** `sealer` encrypts the answers, because some repeat parts of their prompts. */
  constructor(
    store: IdempotencyStore,
    sealer: Sealer,
    clocks: IdempotencyClocks = { monotonicMs: () => performance.now(), wallMs: Date.now },
  ) {
    this.#store = store;
    this.#sealer = sealer;
    this.#clocks = clocks;
    this.#databaseTime = new DatabaseTime({ ...clocks, windowMs: CLAIM_LEASE_MS });
  }

  /**
   * Claims a request, or returns the answer that it had before.
   *
   * @throws {Failure} `idempotency_key_reused` (422), `idempotency_key_in_use` (409), `idempotent_answer_gone` (409).
   * @throws {Unavailable} when the database does not answer within 5 seconds.
   */
  async claim(request: IdempotentRequest): Promise<ClaimResult> {
    const id = crypto.randomUUID() as ClaimId;
    const outcome = this.#outcomeHere(request) ?? (await this.#outcomeInDatabase(request, id));
    if (outcome.kind === "claimed") return { kind: "claimed", claim: this.#claimOf(request, id) };
    if (outcome.kind === "running") {
      const message = "A request with this idempotency key is being answered. Retry when it has ended.";
      throw new Failure("idempotency_key_in_use", message, { retryAfterMs: 1_000 });
    }
    if (outcome.kind === "differs") {
      const message = "This idempotency key was used with a different body. Use a new key for each request.";
      throw new Failure("idempotency_key_reused", message, { param: "Idempotency-Key" });
    }
    const answer = outcome.answer === null ? null : this.#opened(request, outcome.answer);
    if (answer !== null) return { kind: "answered", answer };
    throw new Failure(
      "idempotent_answer_gone",
      "This request was answered before, and the answer was too large to store or can no longer be decrypted. Use a new idempotency key to execute it again.",
      { headers: { "x-should-retry": "false" } },
    );
  }

  /** Returns what a request is answered with that this node is answering already, whatever has become of its claim; otherwise `null`. */
  #outcomeHere(request: IdempotentRequest): ClaimOutcome | null {
    const running = this.#running.get(nameOf(request));
    if (running === undefined) return null;
    return { kind: Buffer.from(running.bodyDigest).equals(request.bodyDigest) ? "running" : "differs" };
  }

  async #outcomeInDatabase(request: IdempotentRequest, id: ClaimId): Promise<ClaimOutcome> {
    try {
      return await withAnswerTimeout(() => this.#store.claim(request, id, this.#replaceable()));
    } catch (error) {
      // The database may have stored the claim although its answer was lost, or may still store it.
      this.#expectLate(id);
      void this.#release(id);
      throw error;
    }
  }

  /** An answer is kept for its time by all clocks. If one is wrong, it is kept for longer. */
  #replaceable(): Replaceable {
    const databaseMs = this.#databaseTime.nowMs();
    return {
      renewedBefore: new Date(databaseMs - CLAIM_LEASE_MS),
      createdBefore: new Date(Math.min(databaseMs, this.#clocks.wallMs()) - KEPT_MS),
    };
  }

  /** Reads the database's clock, so that a jump of it is known. Call it every few seconds. */
  async watchClock(): Promise<void> {
    this.#databaseTime.note((await this.#store.now()).getTime());
  }

  /**
   * Stops renewing the claims of entries that no longer wait for the database: it has them and their answers, or it has rejected
   * them. The claim of a rejected entry ends with its lease, as if its node had died.
   */
  forget(entries: readonly { readonly idempotency?: IdempotencyRecord | undefined }[]): void {
    for (const { idempotency } of entries) if (idempotency !== undefined) this.#drop(idempotency.claim);
  }

  /**
   * Takes up the claims of answers that an earlier process of this node has given and the database does not have yet: until {@link forget}
   * their requests are not executed again.
   */
  resume(
    entries: readonly {
      readonly accountId: AccountId;
      readonly idempotency?: IdempotencyRecord | undefined;
    }[],
  ): void {
    for (const { accountId, idempotency } of entries) {
      if (idempotency === undefined) continue;
      const { claim, answer } = idempotency;
      const request: IdempotentRequest = {
        accountId,
        idempotencyKeyDigest: Buffer.from(idempotency.idempotencyKeyDigest, "base64"),
        bodyDigest: Buffer.from(idempotency.bodyDigest, "base64"),
      };
      this.#hold(claim, { request, answerLength: answer?.text.length ?? 0 });
    }
  }

  /**
   * Renews the claims of running requests when that is due. Call it every second: after a failure it is due at once, because other nodes may
   * take claims whose leases have ended as soon as the database answers again.
   */
  async renew(): Promise<void> {
    const nowMs = this.#clocks.monotonicMs();
    if (this.#claims.size === 0 || nowMs - this.#renewedMs < RENEWED_EVERY_MS) return;
    await this.#store.renew([...this.#claims.keys()]);
    this.#renewedMs = nowMs;
  }

  /**
   * Repeats releases that the database has not confirmed, until one fails. A job of its own calls it, because after an outage there may
   * be many, and claims that are not renewed meanwhile could be taken over although their requests run. Call it every second.
   */
  async retryReleases(): Promise<void> {
    while (this.#unreleased.size > 0) {
      const batch = [...this.#unreleased].slice(0, RELEASED_AT_ONCE);
      await this.#store.release(batch);
      for (const id of batch) this.#unreleased.delete(id);
    }
    if (this.#late.size === 0) return;
    const late = [...this.#late];
    await this.#store.release(late.map(([id]) => id));
    for (const [id, left] of late) {
      if (left > 1) this.#late.set(id, left - 1);
      else this.#late.delete(id);
    }
  }

  #expectLate(id: ClaimId): void {
    dropOldest(this.#late, MAX_LATE);
    this.#late.set(id, LATE_RELEASES);
  }

  /** Waits 5 seconds at most. {@link retryReleases} repeats a release that was not confirmed by then. */
  async #release(id: ClaimId): Promise<void> {
    try {
      await withAnswerTimeout(() => this.#store.release([id]));
    } catch {
      dropOldest(this.#unreleased, MAX_UNRELEASED);
      this.#unreleased.add(id);
    }
  }

  #claimOf(request: IdempotentRequest, id: ClaimId): Claim {
    const held: HeldClaim = { request, answerLength: 0 };
    this.#hold(id, held);
    return {
      id,
      answered: (answer) => {
        const sealed = answer === null ? null : this.#sealed(request, answer);
        held.answerLength = sealed?.text.length ?? 0;
        this.#waitingCharacters += held.answerLength;
        return {
          claim: id,
          idempotencyKeyDigest: Buffer.from(request.idempotencyKeyDigest).toString("base64"),
          bodyDigest: Buffer.from(request.bodyDigest).toString("base64"),
          answer: sealed,
        };
      },
      release: async () => {
        this.#drop(id);
        await this.#release(id);
      },
    };
  }

  /** The answer as it is stored; `null` if it is too long, or too many wait for the database. */
  #sealed(request: IdempotentRequest, { text, ...rest }: KeptAnswer): KeptAnswer | null {
    if (text.length > MAX_ANSWER_CHARACTERS) return null;
    const sealed = this.#sealer.seal(text, contextOf(request));
    if (this.#waitingCharacters + sealed.length > MAX_WAITING_CHARACTERS) return null;
    return { ...rest, text: sealed };
  }

  /** The stored answer as it was sent; `null` if none of the keys opens it. Earlier versions stored it unencrypted. */
  #opened(request: IdempotentRequest, { text, ...rest }: KeptAnswer): KeptAnswer | null {
    if (!text.startsWith(SEALED_TEXT_PREFIX)) return { ...rest, text };
    const opened = this.#sealer.open(text, contextOf(request));
    return opened === null ? null : { ...rest, text: opened };
  }

  #hold(id: ClaimId, held: HeldClaim): void {
    this.#claims.set(id, held);
    this.#running.set(nameOf(held.request), held.request);
    this.#waitingCharacters += held.answerLength;
  }

  #drop(id: ClaimId): void {
    const held = this.#claims.get(id);
    if (held === undefined) return;
    this.#waitingCharacters -= held.answerLength;
    this.#claims.delete(id);
    const name = nameOf(held.request);
    if (this.#running.get(name) === held.request) this.#running.delete(name);
  }
}

/** Identifies a request by its account and idempotency key. */
function nameOf({ accountId, idempotencyKeyDigest }: IdempotentRequest): string {
  return `${accountId} ${Buffer.from(idempotencyKeyDigest).toString("base64")}`;
}

/** Binds a stored answer to its request, so that an attacker who can write to the table cannot pass it to another one. */
function contextOf({ accountId, idempotencyKeyDigest }: IdempotentRequest): string {
  return `answer\n${accountId}\n${Buffer.from(idempotencyKeyDigest).toString("base64")}`;
}

/** Identifies a request by its account, endpoint, idempotency key and body. */
export function idempotentRequest(
  accountId: AccountId,
  endpoint: string,
  idempotencyKey: string,
  body: Uint8Array,
): IdempotentRequest {
  return {
    accountId,
    idempotencyKeyDigest: createHash("sha256").update(`${endpoint}\n${idempotencyKey}`).digest(),
    bodyDigest: createHash("sha256").update(body).digest(),
  };
}
