import type { AccountId } from "../accounts/account.ts";
import type { KeyUuid } from "../keys/key.ts";
import type { Credits } from "./credits.ts";
import type { BalanceMismatch } from "./ledger.ts";

/** Sums of usage that are not those of the entries. */
export interface UsageMismatch {
  /** `null`: that of the whole service. */
  readonly accountId: AccountId | null;
  /** `hour`: not the sum of the entries; `day`: not the sum of the hours; `month`: not the sum of the days. */
  readonly interval: "hour" | "day" | "month";
  readonly start: Date;
  /** `null`: that of all keys. */
  readonly key: KeyUuid | null;
  /** `null`: that of all models. */
  readonly model: string | null;
}

/** What is compared in the store. */
export interface BooksReader {
  findMismatches(limit: number): Promise<readonly BalanceMismatch[]>;
  /** From an hour on; within the time that entries are kept. */
  findUsageMismatches(since: Date, limit: number): Promise<readonly UsageMismatch[]>;
  /** What nodes have set aside for requests, together. */
  readReserved(): Promise<{ readonly reservations: number; readonly nanoUsd: bigint }>;
}

export interface BooksReport {
  /** Accounts whose balance is not the sum of their ledger, or less than what is set aside of it: there should be none. */
  readonly mismatches: readonly BalanceMismatch[];
  /** There should be none. */
  readonly usageMismatches: readonly UsageMismatch[];
  /** From when on usage was compared. */
  readonly since: Date;
  /** Set aside by all nodes. */
  readonly reserved: { readonly reservations: number; readonly nanoUsd: bigint };
  /** By this node: held for requests that are being answered. */
  readonly held: { readonly holds: number; readonly nanoUsd: bigint };
  readonly checkedAt: Date;
}

const MOST_MISMATCHES = 100;
const HOUR_MS = 60 * 60_000;

/** Whether all sums are right, which nothing should ever have made wrong. */
export class Books {
  readonly #reader: BooksReader;
  readonly #credits: Pick<Credits, "outstanding">;
  readonly #now: () => Date;
  #last: BooksReport | null = null;

  constructor(reader: BooksReader, credits: Pick<Credits, "outstanding">, now: () => Date) {
    this.#reader = reader;
    this.#credits = credits;
    this.#now = now;
  }

  /** What the last check has found; `null` before the first. */
  get last(): BooksReport | null {
    return this.#last;
  }

  /** @param hours of usage that are compared with the entries, up to now. */
  async check(hours: number): Promise<BooksReport> {
    const checkedAt = this.#now();
    const since = new Date(Math.floor(checkedAt.getTime() / HOUR_MS - hours) * HOUR_MS);
    this.#last = {
      mismatches: await this.#reader.findMismatches(MOST_MISMATCHES),
      usageMismatches: await this.#reader.findUsageMismatches(since, MOST_MISMATCHES),
      since,
      reserved: await this.#reader.readReserved(),
      held: this.#credits.outstanding(),
      checkedAt,
    };
    return this.#last;
  }
}
