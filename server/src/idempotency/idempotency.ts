import { createHash } from "node:crypto";
import type { AccountId } from "../contract/account.ts";
import type { ClaimId, KeptAnswer, KeyedAnswer } from "../contract/kept-answer.ts";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";

/** How long an answer is kept. */
export const KEPT_MS = 24 * 60 * 60_000;
/** A longer answer is not kept. */
export const MAX_ANSWER_CHARACTERS = 1024 * 1024;
/** A claim whose node does not renew it for so long belongs to a dead one. */
export const CLAIM_LEASE_MS = 60_000;
/** Beyond this number the oldest are dropped: their claims lapse with their leases. */
const MAX_UNRELEASED = 10_000;
/** Of answers that wait for the database together. Of what is beyond only the fact that it was answered is kept. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;

/** A request with an idempotency key, by digests: neither the key nor the body is kept. */
export interface IdempotentRequest {
  readonly accountId: AccountId;
  /** SHA-256 of the endpoint and the idempotency key. */
  readonly keyDigest: Uint8Array;
  /** SHA-256 of the body as it was sent. */
  readonly bodyDigest: Uint8Array;
}

/** What is known of a request. */
export type ClaimOutcome =
  | { readonly kind: "claimed" }
  | { readonly kind: "running" }
  | { readonly kind: "differs" }
  | { readonly kind: "answered"; readonly answer: KeptAnswer | null };

/** Where claims are kept, for all nodes: the database. */
export interface IdempotencyStore {
  /** Claims the request for this node, unless it is known. */
  claim(request: IdempotentRequest, claim: ClaimId): Promise<ClaimOutcome>;
  /** Forgets a request that came to nothing. */
  release(request: IdempotentRequest, claim: ClaimId): Promise<void>;
  renew(claims: readonly ClaimId[]): Promise<void>;
}

/** A request that this node answers. */
export interface Claim {
  readonly id: ClaimId;
  /** What the entry of the request carries once it has been answered. */
  answered(answer: KeptAnswer | null): KeyedAnswer;
  /** The request came to nothing: when it is sent again it is executed again. Waits 5 seconds at most. */
  release(): Promise<void>;
}

/** Requests that are executed once, however often they are sent. */
export class Idempotency {
  readonly #store: IdempotencyStore;
  /** Claims of this node that are not answered in the database, and how long their answers are. */
  readonly #claims = new Map<ClaimId, number>();
  /** Claims that came to nothing, and may still be in the database. */
  readonly #unreleased = new Map<ClaimId, IdempotentRequest>();
  #waitingCharacters = 0;

  constructor(store: IdempotencyStore) {
    this.#store = store;
  }

  /**
   * Begins a request, or tells what it was answered with.
   *
   * @throws {Failure} `idempotency_key_reused` (422), `idempotency_key_in_use` (409), `idempotent_answer_gone` (409).
   */
  async begin(request: IdempotentRequest): Promise<Claim | KeptAnswer> {
    const id = crypto.randomUUID() as ClaimId;
    let outcome: ClaimOutcome;
    try {
      outcome = await withTimeout(ANSWER_TIMEOUT_MS, () => this.#store.claim(request, id));
    } catch (error) {
      // It may have been taken all the same.
      void this.#release(request, id);
      throw error;
    }
    if (outcome.kind === "claimed") return this.#claimOf(request, id);
    if (outcome.kind === "running") throw inUse();
    if (outcome.kind === "differs") throw reused();
    if (outcome.answer === null) throw gone();
    return outcome.answer;
  }

  /** To be told of entries that are in the database, and of their answers with them. */
  committed(entries: readonly { readonly keyed?: KeyedAnswer }[]): void {
    for (const { keyed } of entries) if (keyed !== undefined) this.#forget(keyed.claim);
  }

  /**
   * Keeps the claims of requests that take long, and repeats the releases that the database has not confirmed. To be called
   * well within {@link CLAIM_LEASE_MS}.
   */
  async renew(): Promise<void> {
    if (this.#claims.size > 0) await this.#store.renew([...this.#claims.keys()]);
    for (const [id, request] of this.#unreleased) {
      await this.#store.release(request, id);
      this.#unreleased.delete(id);
    }
  }

  /** Waits 5 seconds at most. What is not confirmed by then is repeated by {@link renew}. */
  async #release(request: IdempotentRequest, id: ClaimId): Promise<void> {
    try {
      await withTimeout(ANSWER_TIMEOUT_MS, () => this.#store.release(request, id));
    } catch {
      const [oldest] = this.#unreleased.keys();
      if (oldest !== undefined && this.#unreleased.size >= MAX_UNRELEASED) this.#unreleased.delete(oldest);
      this.#unreleased.set(id, request);
    }
  }

  #claimOf(request: IdempotentRequest, id: ClaimId): Claim {
    this.#claims.set(id, 0);
    return {
      id,
      answered: (answer) => {
        const length = answer?.text.length ?? 0;
        const isKept =
          answer !== null && isStorable(answer) && this.#waitingCharacters + length <= MAX_WAITING_CHARACTERS;
        if (isKept) {
          this.#claims.set(id, length);
          this.#waitingCharacters += length;
        }
        return {
          claim: id,
          keyDigest: Buffer.from(request.keyDigest).toString("base64"),
          bodyDigest: Buffer.from(request.bodyDigest).toString("base64"),
          answer: isKept ? answer : null,
        };
      },
      release: async () => {
        this.#forget(id);
        await this.#release(request, id);
      },
    };
  }

  #forget(id: ClaimId): void {
    this.#waitingCharacters -= this.#claims.get(id) ?? 0;
    this.#claims.delete(id);
  }
}

/** Text in PostgreSQL holds neither the character 0 nor half of a surrogate pair. */
function isStorable({ text }: KeptAnswer): boolean {
  return text.length <= MAX_ANSWER_CHARACTERS && !/[\0\p{Cs}]/u.test(text);
}

/** By what a request is known again: its account, endpoint, idempotency key and body. */
export function idempotentRequest(
  accountId: AccountId,
  endpoint: string,
  idempotencyKey: string,
  body: Uint8Array,
): IdempotentRequest {
  return {
    accountId,
    keyDigest: createHash("sha256").update(`${endpoint}\n${idempotencyKey}`).digest(),
    bodyDigest: createHash("sha256").update(body).digest(),
  };
}

function inUse(): Failure {
  return new Failure(
    "idempotency_key_in_use",
    "A request with this idempotency key is being answered. Retry when it has ended.",
    { retryAfterMs: 1_000 },
  );
}

function reused(): Failure {
  return new Failure(
    "idempotency_key_reused",
    "This idempotency key was used with a different body. Use a new key for each request.",
    { param: "Idempotency-Key" },
  );
}

function gone(): Failure {
  return new Failure(
    "idempotent_answer_gone",
    "This request was answered before, and the answer was too large to store. Use a new idempotency key to execute it again.",
    { headers: { "x-should-retry": "false" } },
  );
}
