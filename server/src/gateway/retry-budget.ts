import type { Sender } from "./upstream-breaker.ts";

/** The number of seconds over which attempts are counted. */
const WINDOW_S = 10;
/** An account has a retry for each of so many first attempts, which no other account can take. */
const FIRSTS_OF_RETRY = 5;
/** The number of further retries: those of all accounts, and those that one account may take of them. */
const FURTHER_RETRIES = 20;
const FURTHER_RETRIES_OF_SENDER = 10;

/** What was attempted within a second. */
interface Attempts {
  /** The retries of all accounts beyond those for their first attempts. */
  further: number;
  readonly ofSender: Map<Sender, AttemptsOfSender>;
}

interface AttemptsOfSender {
  firsts: number;
  /** Retries for the first attempts, and those beyond them. */
  retries: number;
  further: number;
}

/**
 * Limits retries to a fraction of first attempts: when everything fails, retries make it worse. Each account has its own share, so that one whose
 * requests fail does not use up the retries of others.
 */
export class RetryBudget {
  readonly #monotonicMs: () => number;
  readonly #seconds = new Map<number, Attempts>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Counts the first attempt of a request. */
  countFirst(sender: Sender): void {
    attemptsOf(this.#present(), sender).firsts++;
  }

  /** Counts a retry if it is allowed. @returns whether it is. */
  takeRetry(sender: Sender): boolean {
    const present = this.#present();
    const own = attemptsOf(present, sender);
    let [firsts, retries, ownFurther, further] = [0, 0, 0, 0];
    for (const second of this.#seconds.values()) {
      further += second.further;
      const counted = second.ofSender.get(sender);
      if (counted === undefined) continue;
      firsts += counted.firsts;
      retries += counted.retries;
      ownFurther += counted.further;
    }
    if ((retries + 1) * FIRSTS_OF_RETRY <= firsts) {
      own.retries++;
      return true;
    }
    if (further >= FURTHER_RETRIES || ownFurther >= FURTHER_RETRIES_OF_SENDER) return false;
    present.further++;
    own.further++;
    return true;
  }

  #present(): Attempts {
    const now = Math.floor(this.#monotonicMs() / 1_000);
    const known = this.#seconds.get(now);
    if (known !== undefined) return known;
    for (const second of this.#seconds.keys()) if (second <= now - WINDOW_S) this.#seconds.delete(second);
    const fresh: Attempts = { further: 0, ofSender: new Map() };
    this.#seconds.set(now, fresh);
    return fresh;
  }
}

function attemptsOf({ ofSender }: Attempts, sender: Sender): AttemptsOfSender {
  const known = ofSender.get(sender);
  if (known !== undefined) return known;
  const fresh = { firsts: 0, retries: 0, further: 0 };
  ofSender.set(sender, fresh);
  return fresh;
}
