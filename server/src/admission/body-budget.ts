import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";

/** How many bytes request bodies may come to that are being received, or wait to be admitted. */
export interface BodyBudgetLimits {
  readonly processBytes: number;
  /** Of bodies that came with one account's keys or sessions. */
  readonly accountBytes: number;
  /** Of bodies from one client address whose account is not known yet. */
  readonly addressBytes: number;
}

/** Bodies of callers that are not known are small: what signs in, and what manages an account. */
const ADDRESS_BYTES = 8 * 1024 * 1024;

/** The shares of a budget: some bodies of the largest size for an account, and never all of it. */
export function shareOut(processBytes: number, maxBodyBytes: number): BodyBudgetLimits {
  return {
    processBytes,
    accountBytes: Math.min((5 / 8) * processBytes, Math.max(4 * maxBodyBytes, processBytes / 4)),
    addressBytes: Math.min(processBytes / 2, ADDRESS_BYTES),
  };
}

/** A sender whose bytes were refused retries after this time: the service cannot know when bytes become free. */
const RETRY_AFTER_MS = 1_000;
/** Code, message and retry time of each refusal. */
const REFUSALS = {
  account_bytes: [
    "rate_limit_exceeded",
    "The account has reached its limit on bytes of request bodies in transit. Retry when one of its requests has arrived.",
    RETRY_AFTER_MS,
  ],
  account_concurrency: [
    "too_many_concurrent_requests",
    "The account has reached its limit on concurrent requests. Retry when one of them has ended.",
    RETRY_AFTER_MS,
  ],
  address_bytes: [
    "rate_limit_exceeded",
    "This address has reached its limit on bytes of request bodies in transit. Retry when one of its requests has arrived.",
    RETRY_AFTER_MS,
  ],
  process_bytes: [
    "server_is_overloaded",
    "The service has reached its limit on bytes of request bodies in transit. Try again shortly.",
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
export type BodyRefusal = keyof typeof REFUSALS;
/** Bodies up to this size may use all that there is, larger ones all but a part: then they don't keep small ones out. */
const SMALL_BODY_BYTES = 64 * 1024;
const SHARE_OF_LARGE_BODIES = 7 / 8;
/** Senders without a body are dropped when there are more: to make and drop one for each request would cost more. */
const SENDERS_REMEMBERED = 10_000;

/** Bounds what request bodies take of this process's memory before limits and concurrency slots bear on their requests. */
export class BodyBudget {
  readonly limits: BodyBudgetLimits;
  readonly #senders = new Map<string, BodySender>();
  readonly #refused = new Map((Object.keys(REFUSALS) as BodyRefusal[]).map((reason) => [reason, 0]));
  #bytes = 0;

  constructor(limits: BodyBudgetLimits) {
    this.limits = limits;
  }

  /** Bytes that are in use or reserved. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bodies were refused so far, by the reason. */
  get refused(): ReadonlyMap<BodyRefusal, number> {
    return this.#refused;
  }

  account(id: AccountId): BodySender {
    return this.#sender(id, "account");
  }

  /** `address`: the client's; `null` when it could not be told. */
  address(address: string | null): BodySender {
    return this.#sender(address ?? "unknown", "address");
  }

  /** Counts a refusal and returns its failure, for the caller to throw. */
  refuse(reason: BodyRefusal): Failure {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    const [code, message, retryAfterMs] = REFUSALS[reason];
    return new Failure(code, message, retryAfterMs === null ? {} : { retryAfterMs });
  }

  /** Whether a body may have `more` bytes; `total` is what it then has in all. */
  hasRoom(more: number, total: number): boolean {
    return this.#bytes + more <= roomFor(total, this.limits.processBytes);
  }

  /** For {@link BodySender} alone. Negative: given back. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  #sender(id: string, kind: "account" | "address"): BodySender {
    const known = this.#senders.get(id);
    if (known !== undefined) return known;
    if (this.#senders.size >= SENDERS_REMEMBERED) this.#dropIdle();
    const sender = new BodySender(this, kind);
    this.#senders.set(id, sender);
    return sender;
  }

  #dropIdle(): void {
    for (const [id, sender] of this.#senders) if (sender.isIdle) this.#senders.delete(id);
  }
}

/** An account, or an address, with the bodies that are being received from it. */
export class BodySender {
  readonly budget: BodyBudget;
  readonly #kind: "account" | "address";
  #bytes = 0;
  #bodies = 0;

  constructor(budget: BodyBudget, kind: "account" | "address") {
    this.budget = budget;
    this.#kind = kind;
  }

  get isIdle(): boolean {
    return this.#bodies === 0;
  }

  /**
   * Begins a body. Each that was begun is ended with {@link end}.
   *
   * @param maxBodies how many the sender may have at once; `null`: any number.
   * @throws {Failure} `too_many_concurrent_requests`.
   */
  begin(maxBodies: number | null): void {
    if (maxBodies !== null && this.#bodies >= maxBodies) throw this.budget.refuse("account_concurrency");
    this.#bodies++;
  }

  /**
   * Reserves `more` bytes of a body that has `total` with them.
   *
   * @throws {Failure} `rate_limit_exceeded` when the sender has too many, `server_is_overloaded` when the process has.
   */
  reserve(more: number, total: number): void {
    const { budget } = this;
    const { accountBytes, addressBytes } = budget.limits;
    const isAccount = this.#kind === "account";
    if (this.#bytes + more > roomFor(total, isAccount ? accountBytes : addressBytes)) {
      throw budget.refuse(isAccount ? "account_bytes" : "address_bytes");
    }
    if (!budget.hasRoom(more, total)) throw budget.refuse("process_bytes");
    this.#bytes += more;
    budget.add(more);
  }

  /** Ends a body and gives its bytes back. */
  end(bytes: number): void {
    this.#bodies--;
    this.#bytes -= bytes;
    this.budget.add(-bytes);
  }
}

/** How much of `bytes` may be in use with a body that has `bodyBytes` of them. */
function roomFor(bodyBytes: number, bytes: number): number {
  return bodyBytes > SMALL_BODY_BYTES ? bytes * SHARE_OF_LARGE_BODIES : bytes;
}
