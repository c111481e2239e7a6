import ipaddr from "ipaddr.js";
import { Failure } from "../errors/failure.ts";

/** How often something may be tried: `points` times in `durationS` seconds for each name. */
export interface AttemptRule {
  readonly keyPrefix: string;
  readonly points: number;
  readonly durationS: number;
}

/** Counts attempts by name. The count of a name begins with its first attempt and ends with the rule's time. */
export interface AttemptCounter {
  /** Counts an attempt. @returns 0 when it is within the rule; otherwise milliseconds until the count ends. */
  count(name: string): Promise<number>;
  /** Takes an attempt back. */
  uncount(name: string): Promise<void>;
  /** Whether there is a count of the name. */
  has(name: string): Promise<boolean>;
  /** Begins a count for the whole of the rule's time, whatever was counted before. */
  remember(name: string): Promise<void>;
  forget(name: string): Promise<void>;
}

/** Makes a counter in this process's memory, or in what all nodes share. */
export type CounterFactory = (rule: AttemptRule) => AttemptCounter;

// Someone who mistypes gets in; someone who guesses does not. Counting by user and address together is what
// keeps a stranger from locking a user out; by user alone what keeps a guesser with many addresses from going on.
const USER_AND_ADDRESS: AttemptRule = { keyPrefix: "sign-in-user-address", points: 10, durationS: 15 * 60 };
const USER: AttemptRule = { keyPrefix: "sign-in-user", points: 100, durationS: 60 * 60 };
const ADDRESS: AttemptRule = { keyPrefix: "sign-in-address", points: 100, durationS: 15 * 60 };
/** Networks that a user has signed in from, for which the user's own counter does not matter: see {@link AttemptLimits}. */
const FAMILIAR: AttemptRule = { keyPrefix: "sign-in-familiar", points: 1, durationS: 30 * 24 * 60 * 60 };
const SIGN_UPS: AttemptRule = { keyPrefix: "sign-up-address", points: 100, durationS: 60 * 60 };

/**
 * Limits on attempts to sign in and up, by address and by user. The user's own counter, over all addresses, does not
 * bear on networks that the user has signed in from before: guessing from elsewhere must not lock them out.
 */
export class AttemptLimits {
  readonly #userAndAddress: AttemptCounter;
  readonly #user: AttemptCounter;
  readonly #address: AttemptCounter;
  readonly #familiar: AttemptCounter;
  readonly #signUps: AttemptCounter;

  constructor(counter: CounterFactory) {
    this.#userAndAddress = counter(USER_AND_ADDRESS);
    this.#user = counter(USER);
    this.#address = counter(ADDRESS);
    this.#familiar = counter(FAMILIAR);
    this.#signUps = counter(SIGN_UPS);
  }

  /**
   * Counts an attempt before it is made, so that attempts made at once count too.
   *
   * @throws {Failure} `rate_limit_exceeded`, whether or not there is such a user.
   */
  async countSignIn(email: string, address: string | null): Promise<void> {
    const from = networkOf(address);
    await count(this.#address, from);
    await count(this.#userAndAddress, `${email} ${from}`);
    if (!(await this.#familiar.has(`${email} ${from}`))) await count(this.#user, email);
  }

  /** An attempt that succeeded does not count, nor do the user's mistakes before it. */
  async resetAttempts(email: string, address: string | null): Promise<void> {
    const from = networkOf(address);
    await this.#userAndAddress.forget(`${email} ${from}`);
    await this.#address.uncount(from);
    if (!(await this.#familiar.has(`${email} ${from}`))) await this.#user.uncount(email);
    await this.#familiar.remember(`${email} ${from}`);
  }

  /** @throws {Failure} `rate_limit_exceeded` */
  async countSignUp(address: string | null): Promise<void> {
    await count(this.#signUps, networkOf(address));
  }
}

async function count(counter: AttemptCounter, name: string): Promise<void> {
  const retryAfterMs = await counter.count(name);
  if (retryAfterMs > 0) {
    throw new Failure("rate_limit_exceeded", "Too many attempts. Wait before you try again.", {
      retryAfterMs,
    });
  }
}

/** An IPv6 subscriber has a /56 or so of their own to choose addresses from (RFC 6177): it counts as one. */
export function networkOf(address: string | null): string {
  if (address === null || !ipaddr.IPv6.isValid(address)) return address ?? "unknown";
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/56`).toString();
}
