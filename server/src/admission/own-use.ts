import type { AccountId } from "../contract/account.ts";
import { WINDOW_S } from "../contract/limits.ts";
import type { AccountEpoch, NodeUse, UseOfSecond } from "./admission-store.ts";

/** The maximum number of accounts that are counted. The minute of each takes up to 1.5 KB. */
const ACCOUNTS = 20_000;
/** A second takes three numbers: the second, its requests and its tokens. */
const NUMBERS = 3;
const MAX_NUMBERS = NUMBERS * (WINDOW_S + 1);

/** What this node has admitted of an account in the last minute, in one epoch of the account. */
interface Minute {
  readonly epoch: AccountEpoch;
  /** {@link NUMBERS} for each second in which something was admitted. */
  readonly numbers: number[];
  /** The counts of the epoch before. */
  former: Minute | null;
}

/**
 * What this node has admitted in the last minute, to restore the counts of a store that has lost them. Every admission is counted, so counting must be
 * cheap: a look-up and an addition. Seconds are those of the store's clock, and epochs those in which the store has admitted: another node may have
 * begun one.
 */
export class OwnUse {
  readonly #minutes = new Map<AccountId, Minute>();
  #sweptS = 0;

  /** Counts an admission. Requests and tokens are 0 where they are not limited. */
  add(accountId: AccountId, epoch: AccountEpoch, { second, requests, tokens }: UseOfSecond): void {
    const minute = this.#minuteOf(accountId, epoch) ?? this.#begin(accountId, epoch, second);
    if (minute === null) return;
    const { numbers } = minute;
    const last = numbers.length - NUMBERS;
    if (numbers[last] === second) {
      numbers[last + 1] = (numbers[last + 1] ?? 0) + requests;
      numbers[last + 2] = (numbers[last + 2] ?? 0) + tokens;
      return;
    }
    while (isOver(numbers[0], second) || numbers.length >= MAX_NUMBERS) numbers.splice(0, NUMBERS);
    numbers.push(second, requests, tokens);
  }

  /** Adds requests and tokens, which may be negative, to what was admitted in a second. A sum below 0, after a clock went back, counts as 0 in the store. */
  correct(accountId: AccountId, epoch: AccountEpoch, { second, requests, tokens }: UseOfSecond): void {
    const numbers = this.#minuteOf(accountId, epoch)?.numbers ?? [];
    let index = numbers.length - NUMBERS;
    while (index >= 0 && numbers[index] !== second) index -= NUMBERS;
    if (index < 0) return;
    numbers[index + 1] = (numbers[index + 1] ?? 0) + requests;
    numbers[index + 2] = (numbers[index + 2] ?? 0) + tokens;
  }

  /** The accounts with admissions in the last minute. */
  accounts(): Iterable<AccountId> {
    return this.#minutes.keys();
  }

  /** What was admitted of an account in each epoch. */
  of(accountId: AccountId): readonly Omit<NodeUse, "node">[] {
    const uses: Omit<NodeUse, "node">[] = [];
    for (let minute = this.#minutes.get(accountId) ?? null; minute !== null; minute = minute.former) {
      uses.push({ epoch: minute.epoch, seconds: secondsOf(minute.numbers) });
    }
    return uses;
  }

  #minuteOf(accountId: AccountId, epoch: AccountEpoch): Minute | null {
    let minute = this.#minutes.get(accountId) ?? null;
    while (minute !== null && minute.epoch !== epoch) minute = minute.former;
    return minute;
  }

  /** @returns `null` when too many accounts are counted. */
  #begin(accountId: AccountId, epoch: AccountEpoch, second: number): Minute | null {
    this.#dropOld(second);
    const newest = this.#minutes.get(accountId) ?? null;
    if (newest === null && this.#minutes.size >= ACCOUNTS) return null;
    const former = withoutOld(newest, second);
    const minute: Minute = { epoch, numbers: [], former };
    this.#minutes.set(accountId, minute);
    return minute;
  }

  /** Once a minute, so that idle accounts take no memory. */
  #dropOld(second: number): void {
    if (Math.abs(second - this.#sweptS) < WINDOW_S) return;
    this.#sweptS = second;
    for (const [accountId, minute] of this.#minutes) {
      const newest = withoutOld(minute, second);
      if (newest === null) this.#minutes.delete(accountId);
      else this.#minutes.set(accountId, newest);
    }
  }
}

/** Drops the expired minutes from a minute and its former ones. @returns the newest that is left; `null` if none is. */
function withoutOld(minute: Minute | null, second: number): Minute | null {
  if (minute === null) return null;
  const former = withoutOld(minute.former, second);
  if (isOver(minute.numbers.at(-NUMBERS), second)) return former;
  minute.former = former;
  return minute;
}

function isOver(second: number | undefined, present: number): boolean {
  return second !== undefined && second < present - WINDOW_S;
}

function secondsOf(numbers: readonly number[]): readonly UseOfSecond[] {
  return Array.from({ length: numbers.length / NUMBERS }, (_, index) => {
    const [second = 0, requests = 0, tokens = 0] = numbers.slice(index * NUMBERS, (index + 1) * NUMBERS);
    return { second, requests, tokens };
  });
}
