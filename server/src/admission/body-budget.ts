import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";

/** Limits on the bytes of bodies and answers in memory: those of requests that are being received or answered. */
interface BodyBudgetLimits {
  readonly processBytes: number;
  /** Bodies sent with the keys or sessions of one account. */
  readonly accountBytes: number;
  /** Bodies from one client address whose account is not known yet. */
  readonly addressBytes: number;
}

/** The share of the budget that one account may use, and that all answers together may use. */
const MAX_SHARE = 5 / 8;
/** Requests of unknown callers, such as sign-ins and management calls, have small bodies. */
const ADDRESS_BYTES = 8 * 1024 * 1024;

/** Divides a budget: an account can send several bodies of the maximum size, but can never use the whole budget. */
export function shareOut(processBytes: number, maxBodyBytes: number): BodyBudgetLimits {
  return {
    processBytes,
    accountBytes: Math.min(MAX_SHARE * processBytes, Math.max(4 * maxBodyBytes, processBytes / 4)),
    addressBytes: Math.min(processBytes / 2, ADDRESS_BYTES),
  };
}

/** A sender whose bytes were refused retries after this time: the service cannot know when bytes become free. */
const RETRY_AFTER_MS = 1_000;
/** Code, message and retry time of each refusal. */
const REFUSALS = {
  account_bytes: [
    "rate_limit_exceeded",
    "The account has reached its limit on bytes of request bodies. Retry when one of its requests has been answered.",
    RETRY_AFTER_MS,
  ],
  account_concurrency: [
    "too_many_concurrent_requests",
    "The account has reached its limit on concurrent requests. Retry when one of them has ended.",
    RETRY_AFTER_MS,
  ],
  address_bytes: [
    "rate_limit_exceeded",
    "This address has reached its limit on bytes of request bodies. Retry when one of its requests has arrived.",
    RETRY_AFTER_MS,
  ],
  process_bytes: [
    "server_is_overloaded",
    "The service has reached its limit on bytes of request bodies. Try again shortly.",
    RETRY_AFTER_MS,
  ],
  too_slow: [
    "request_timeout",
    "The request body arrived too slowly. Send it over a faster connection, or send less.",
    null,
  ],
  too_many_pieces: [
    "invalid_request",
    "The request body arrived in too many small chunks. Send it with a `Content-Length`, or in larger chunks.",
    null,
  ],
} as const;
/** Why a body was not received. */
type BodyRefusal = keyof typeof REFUSALS;
/** Why an answer is not kept. `too_large`: together with the body of its request it is larger than the share of an account. */
export type AnswerRefusal = "account_bytes" | "process_bytes" | "too_large";
/** Larger bodies may not use the last part of the budget, so that they do not keep small bodies out. */
const SMALL_BODY_BYTES = 64 * 1024;
export const SHARE_OF_LARGE_BODIES = 7 / 8;
/** Idle senders are dropped beyond this number. Creating and dropping one for each request would cost more. */
const SENDERS_REMEMBERED = 10_000;

/**
 * Limits the memory that request bodies and answers take. Concurrency slots do not: an account may have hundreds, each with a body and an answer
 * of many MB.
 */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #senders = new Map<string, BodySender>();
  readonly #refused = new Map((Object.keys(REFUSALS) as BodyRefusal[]).map((reason) => [reason, 0]));
  readonly #refusedAnswers = new Map<AnswerRefusal, number>([
    ["account_bytes", 0],
    ["process_bytes", 0],
    ["too_large", 0],
  ]);
  /** Called when bytes become free. */
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  /** The part of these bytes that answers take. */
  #answerBytes = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get maxBytes(): number {
    return this.#limits.processBytes;
  }

  /** Counts of refused bodies by reason. */
  get refused(): ReadonlyMap<BodyRefusal, number> {
    return this.#refused;
  }

  /** Counts of refused answers by reason. */
  get refusedAnswers(): ReadonlyMap<AnswerRefusal, number> {
    return this.#refusedAnswers;
  }

  account(id: AccountId): BodySender {
    return this.#sender(id, this.#limits.accountBytes, "account_bytes");
  }

  /** `network`: the client's address, or its network where a client has many addresses. */
  address(network: string): BodySender {
    return this.#sender(network, this.#limits.addressBytes, "address_bytes");
  }

  /** Counts a refusal and returns its failure, for the caller to throw. */
  refuse(reason: BodyRefusal): Failure {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    const [code, message, retryAfterMs] = REFUSALS[reason];
    return new Failure(code, message, retryAfterMs === null ? {} : { retryAfterMs });
  }

  countRefusedAnswer(reason: AnswerRefusal): void {
    this.#refusedAnswers.set(reason, (this.#refusedAnswers.get(reason) ?? 0) + 1);
  }

  /** Calls the function whenever bytes have become free, until the returned function is called. */
  onRelease(released: () => void): () => void {
    this.#waiting.add(released);
    return () => this.#waiting.delete(released);
  }

  /** Only {@link BodySender} calls this, for a body that grows by `more` bytes to `total` bytes. @throws {Failure} */
  reserve(more: number, total: number): void {
    if (this.#bytes + more > roomFor(total, this.#limits.processBytes)) throw this.refuse("process_bytes");
    this.#bytes += more;
  }

  /** Only {@link BodySender} calls this. Returns whether the bytes are reserved. */
  reserveAnswer(more: number, total: number): boolean {
    const { processBytes } = this.#limits;
    if (this.#answerBytes + more > MAX_SHARE * processBytes) return false;
    if (this.#bytes + more > roomFor(total, processBytes)) return false;
    this.#answerBytes += more;
    this.#bytes += more;
    return true;
  }

  /** Only {@link BodySender} calls this. */
  releaseAnswer(bytes: number): void {
    this.#answerBytes -= bytes;
  }

  /** Only {@link BodySender} calls this. */
  release(bytes: number): void {
    this.#bytes -= bytes;
    for (const released of this.#waiting) released();
  }

  #sender(id: string, maxBytes: number, refusal: BodyRefusal): BodySender {
    const known = this.#senders.get(id);
    if (known !== undefined) return known;
    if (this.#senders.size >= SENDERS_REMEMBERED) this.#dropIdle();
    const sender = new BodySender(this, maxBytes, refusal);
    this.#senders.set(id, sender);
    return sender;
  }

  #dropIdle(): void {
    for (const [id, sender] of this.#senders) if (sender.isIdle) this.#senders.delete(id);
  }
}

/** An account or a client address that is sending bodies, with the answers to them. */
export class BodySender {
  readonly budget: BodyBudget;
  readonly #maxBytes: number;
  readonly #refusal: BodyRefusal;
  #bytes = 0;
  #bodies = 0;

  /** @param refusal the reason for which a body that exceeds `maxBytes` is refused. */
  constructor(budget: BodyBudget, maxBytes: number, refusal: BodyRefusal) {
    this.budget = budget;
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  get isAccount(): boolean {
    return this.#refusal === "account_bytes";
  }

  get isIdle(): boolean {
    return this.#bodies === 0 && this.#bytes === 0;
  }

  /**
   * Begins a body, which must be ended with {@link end} when it is admitted or refused.
   *
   * @param maxBodies the maximum number of bodies of the sender that are not admitted yet; `null`: any number.
   * @throws {Failure} `too_many_concurrent_requests`.
   */
  begin(maxBodies: number | null): void {
    if (maxBodies !== null && this.#bodies >= maxBodies) throw this.budget.refuse("account_concurrency");
    this.#bodies++;
  }

  /**
   * Reserves `more` bytes for a body that grows to `total` bytes.
   *
   * @throws {Failure} `rate_limit_exceeded` when the sender has too many, `server_is_overloaded` when the process has.
   */
  reserve(more: number, total: number): void {
    if (this.#bytes + more > roomFor(total, this.#maxBytes)) throw this.budget.refuse(this.#refusal);
    this.budget.reserve(more, total);
    this.#bytes += more;
  }

  /**
   * Reserves `more` bytes for an answer that grows to `total` bytes.
   *
   * @param bodyBytes what is reserved for the body of its request.
   * @returns why that is refused; `null`: the bytes are reserved.
   */
  reserveAnswer(more: number, total: number, bodyBytes: number): AnswerRefusal | null {
    const room = roomFor(total, this.#maxBytes);
    if (bodyBytes + total > room) return "too_large";
    if (this.#bytes + more > room) return "account_bytes";
    if (!this.budget.reserveAnswer(more, total)) return "process_bytes";
    this.#bytes += more;
    return null;
  }

  releaseAnswer(bytes: number): void {
    this.budget.releaseAnswer(bytes);
    this.release(bytes);
  }

  end(): void {
    this.#bodies--;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.budget.release(bytes);
  }
}

/** The part of a limit that may be in use together with a body of `bodyBytes`. */
function roomFor(bodyBytes: number, bytes: number): number {
  return bodyBytes > SMALL_BODY_BYTES ? bytes * SHARE_OF_LARGE_BODIES : bytes;
}
