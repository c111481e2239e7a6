import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { AccountId } from "../accounts/account.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { within } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";

/** How long an answer is kept. */
export const KEPT_MS = 24 * 60 * 60_000;
/** A longer answer is not kept. */
export const MOST_ANSWER_CHARACTERS = 1024 * 1024;
/** A claim whose node does not renew it for so long belongs to a dead one. */
export const CLAIM_LEASE_MS = 60_000;
const ANSWER_MS = 5_000;
const RETRY_MS = 2_000;
/** Answers that wait for the database: as many megabytes. */
const MOST_UNSTORED = 64;

export type ClaimId = string & { readonly __id: "claim" };

/** A request with an idempotency key, by digests: neither the key nor the body is kept. */
export interface IdempotentRequest {
  readonly accountId: AccountId;
  /** SHA-256 of the endpoint and the idempotency key. */
  readonly keyDigest: Uint8Array;
  /** SHA-256 of the body as it was sent. */
  readonly bodyDigest: Uint8Array;
}

/** What a request was answered with. */
export interface KeptAnswer {
  /** Whether it is server-sent events, without the closing one. */
  readonly isStream: boolean;
  readonly model: string;
  readonly text: string;
}

/** What is known of a request. */
export type ClaimOutcome =
  | { readonly kind: "claimed" }
  | { readonly kind: "running" }
  | { readonly kind: "differs" }
  | { readonly kind: "answered"; readonly answer: KeptAnswer | null };

/** Where claims and answers are kept, for all nodes: the database. */
export interface IdempotencyStore {
  /** Claims the request for this node, unless it is known. */
  claim(request: IdempotentRequest, claim: ClaimId): Promise<ClaimOutcome>;
  /** `null`: the answer was too long to be kept. */
  finish(request: IdempotentRequest, claim: ClaimId, answer: KeptAnswer | null): Promise<void>;
  /** Forgets a request that came to nothing. */
  release(request: IdempotentRequest, claim: ClaimId): Promise<void>;
  renew(claims: readonly ClaimId[]): Promise<void>;
}

/** A request that this node answers. Exactly one of the two is to be called. */
export interface Claim {
  readonly id: ClaimId;
  /** To be called before the answer ends. Does not fail: what the database does not take now it is given later. */
  finish(answer: KeptAnswer | null): Promise<void>;
  /** It came to nothing: who repeats it has it done anew. */
  release(): Promise<void>;
}

/** Requests that are done once, however often they are sent. */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #log: Logger;
  readonly #claims = new Set<ClaimId>();
  readonly #later = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #unstored = 0;

  constructor(store: IdempotencyStore, log: Logger) {
    this.#store = store;
    this.#log = log;
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
      outcome = await within(ANSWER_MS, () => this.#store.claim(request, id));
    } catch (error) {
      // It may have been taken all the same. What can't be taken back ends with its lease.
      void this.#store.release(request, id).catch(() => {});
      throw error;
    }
    if (outcome.kind === "claimed") return this.#claimOf(request, id);
    if (outcome.kind === "running") throw inUse();
    if (outcome.kind === "differs") throw reused();
    if (outcome.answer === null) throw gone();
    return outcome.answer;
  }

  /** Gives the database what it has not taken one more time. The journal knows what was answered all the same. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#later);
  }

  /** Keeps the claims of requests that take long. To be called well within {@link CLAIM_LEASE_MS}. */
  async renew(): Promise<void> {
    if (this.#claims.size > 0) await this.#store.renew([...this.#claims]);
  }

  #claimOf(request: IdempotentRequest, id: ClaimId): Claim {
    this.#claims.add(id);
    return {
      id,
      finish: async (answer) => {
        try {
          await within(ANSWER_MS, () => this.#store.finish(request, id, answer));
          this.#claims.delete(id);
        } catch (error) {
          this.#log.error({ err: error }, "the database did not take an answer; it is given it again");
          const later = this.#finishLater(request, id, answer).finally(() => this.#later.delete(later));
          this.#later.add(later);
        }
      },
      release: async () => {
        this.#claims.delete(id);
        // A claim that can't be taken back ends with its lease.
        await within(ANSWER_MS, () => this.#store.release(request, id)).catch(() => {});
      },
    };
  }

  async #finishLater(request: IdempotentRequest, id: ClaimId, answer: KeptAnswer | null): Promise<void> {
    // Of too many only that they were answered is kept.
    const kept = this.#unstored < MOST_UNSTORED ? answer : null;
    this.#unstored++;
    const untilMs = Date.now() + KEPT_MS;
    for (let isLast = false; !isLast && Date.now() < untilMs; ) {
      await pause(RETRY_MS, this.#stopping.signal);
      isLast = this.#stopping.signal.aborted;
      try {
        await within(ANSWER_MS, () => this.#store.finish(request, id, kept));
        break;
      } catch {
        // Told once, above. The database is away for as long as it is.
      }
    }
    this.#unstored--;
    this.#claims.delete(id);
  }
}

function pause(ms: number, hurry: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (hurry.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      hurry.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    hurry.addEventListener("abort", done);
  });
}

/** Of what has ended, the claims of requests that were answered. */
export function answeredClaims(
  entries: readonly Pick<AuditEntry, "claim" | "status" | "endReason">[],
): readonly ClaimId[] {
  return entries.flatMap(({ claim, status, endReason }) =>
    claim !== undefined && status === 200 && (endReason === "stop" || endReason === "client_gone")
      ? [claim]
      : [],
  );
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
    "A request with this idempotency key is being answered. Send it again when it has ended.",
    { retryAfterMs: 1_000 },
  );
}

function reused(): Failure {
  return new Failure(
    "idempotency_key_reused",
    "This idempotency key came with another body before. Use a new one for each request.",
    { param: "Idempotency-Key" },
  );
}

function gone(): Failure {
  return new Failure(
    "idempotent_answer_gone",
    "This request was answered before, with more than is kept. Use a new idempotency key to have it done again.",
    { headers: { "x-should-retry": "false" } },
  );
}
