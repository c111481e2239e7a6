import ipaddr from "ipaddr.js";
import { type RateLimiterAbstract, RateLimiterRes } from "rate-limiter-flexible";
import { Failure } from "../errors/failure.ts";

/** How often something may be tried: `points` times in `durationS` seconds for each name. */
export interface AttemptRule {
  readonly keyPrefix: string;
  readonly points: number;
  readonly durationS: number;
}

/** Makes a counter in this process's memory, or in what all nodes share. */
export type CounterFactory = (rule: AttemptRule) => RateLimiterAbstract;

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
  readonly #userAndAddress: RateLimiterAbstract;
  readonly #user: RateLimiterAbstract;
  readonly #address: RateLimiterAbstract;
  readonly #familiar: RateLimiterAbstract;
  readonly #signUps: RateLimiterAbstract;

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
    await consume(this.#address, from);
    await consume(this.#userAndAddress, `${email} ${from}`);
    if ((await this.#familiar.get(`${email} ${from}`)) === null) await consume(this.#user, email);
  }

  /** An attempt that succeeded does not count, nor do the user's mistakes before it. */
  async forgive(email: string, address: string | null): Promise<void> {
    const from = networkOf(address);
    await this.#userAndAddress.delete(`${email} ${from}`);
    await this.#address.reward(from, 1);
    if ((await this.#familiar.get(`${email} ${from}`)) === null) await this.#user.reward(email, 1);
    await this.#familiar.set(`${email} ${from}`, 1, FAMILIAR.durationS);
  }

  /** @throws {Failure} `rate_limit_exceeded` */
  async countSignUp(address: string | null): Promise<void> {
    await consume(this.#signUps, networkOf(address));
  }
}

async function consume(counter: RateLimiterAbstract, name: string): Promise<void> {
  try {
    await counter.consume(name);
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    throw new Failure("rate_limit_exceeded", "Too many attempts. Wait before you try again.", {
      retryAfterMs: refused.msBeforeNext,
    });
  }
}

/** An IPv6 subscriber has a /56 or so of their own to choose addresses from (RFC 6177): it counts as one. */
function networkOf(address: string | null): string {
  if (address === null || !ipaddr.IPv6.isValid(address)) return address ?? "unknown";
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/56`).toString();
}
