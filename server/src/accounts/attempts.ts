import { Failure } from "../errors/failure.ts";
import { networkOf } from "../networks/networks.ts";

/** Allows `points` attempts in `durationS` seconds for each name. `keyPrefix` distinguishes the rule's counts in Redis. */
export interface AttemptRule {
  readonly keyPrefix: string;
  readonly points: number;
  readonly durationS: number;
}

/** Counts attempts by name. The count of a name begins with its first attempt and expires after the rule's time. */
export interface AttemptCounter {
  /** Counts an attempt. @returns 0 when it is within the rule; otherwise milliseconds until the count ends. */
  count(name: string): Promise<number>;
  /** Subtracts an attempt. */
  uncount(name: string): Promise<void>;
  /** Returns whether the name has a count. */
  has(name: string): Promise<boolean>;
  /** Starts a new count that lasts for the rule's full time. */
  remember(name: string): Promise<void>;
  /** Deletes the count of the name. */
  forget(name: string): Promise<void>;
}

/** Creates a counter, in the memory of the process or in Redis. */
export type CounterFactory = (rule: AttemptRule) => AttemptCounter;

// Counting by user and address keeps an attacker from locking the user out. Counting by user alone stops an attacker with many
// addresses.
const USER_AND_ADDRESS: AttemptRule = { keyPrefix: "sign-in-user-address", points: 10, durationS: 15 * 60 };
const USER: AttemptRule = { keyPrefix: "sign-in-user", points: 100, durationS: 60 * 60 };
const ADDRESS: AttemptRule = { keyPrefix: "sign-in-address", points: 100, durationS: 15 * 60 };
/** Networks that the user has signed in from, which are exempt from the user's counter: see {@link AttemptLimits}. */
const FAMILIAR: AttemptRule = { keyPrefix: "sign-in-familiar", points: 1, durationS: 30 * 24 * 60 * 60 };
const SIGN_UPS: AttemptRule = { keyPrefix: "sign-up-address", points: 100, durationS: 60 * 60 };

/**
 * Limits attempts to sign in and to sign up, by address and by user. The counter of the user over all addresses does not apply to
 * networks that the user has signed in from before, so that guessing from elsewhere cannot lock them out.
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
   * Counts an attempt before it is made, so that concurrent attempts count, too.
   *
   * @throws {Failure} `rate_limit_exceeded`, whether or not the user exists.
   */
  async countSignIn(email: string, address: string | null): Promise<void> {
    const from = networkOf(address);
    await count(this.#address, from);
    await count(this.#userAndAddress, `${email} ${from}`);
    if (!(await this.#familiar.has(`${email} ${from}`))) await count(this.#user, email);
  }

  /** Subtracts an attempt that could not be completed, and so said nothing about the password. */
  async uncountSignIn(email: string, address: string | null): Promise<void> {
    const from = networkOf(address);
    await this.#address.uncount(from);
    await this.#userAndAddress.uncount(`${email} ${from}`);
    if (!(await this.#familiar.has(`${email} ${from}`))) await this.#user.uncount(email);
  }

  /** Resets the counts after a successful attempt. */
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
