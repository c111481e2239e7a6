import type { AccountId } from "../contract/account.ts";
import type { KeyUuid } from "../contract/key.ts";
import type { Credits } from "./credits.ts";
import type { BalanceMismatch } from "./ledger.ts";
import type { PostgresReconciliation } from "./reconciliation-store.ts";

/** A sum of usage that differs from its entries. */
export interface UsageMismatch {
  /** `null`: the whole service. */
  readonly accountId: AccountId | null;
  /** `hour`: not the sum of the entries; `day`: not the sum of the hours; `month`: not the sum of the days. */
  readonly interval: "hour" | "day" | "month";
  readonly start: Date;
  /** `null`: all keys. */
  readonly key: KeyUuid | null;
  /** `null`: all models. */
  readonly model: string | null;
}

/** The credit that all nodes have reserved. */
export interface ReservedCredit {
  readonly reservations: number;
  readonly nanoUsd: bigint;
  /** The part of it reserved by nodes that have not been seen for a minute. */
  readonly stuckNanoUsd: bigint;
}

/** The sum that accounts did not pay for one reason: that of an {@link Uncollected}, or one that an operator wrote. */
export interface UncollectedSum {
  readonly reason: string;
  readonly accounts: number;
  readonly nanoUsd: bigint;
}

export interface ReconciliationReport {
  /** Accounts whose balance is negative or not the sum of their ledger. There should be none. */
  readonly mismatches: readonly BalanceMismatch[];
  /** There should be none. */
  readonly usageMismatches: readonly UsageMismatch[];
  /** The start of the period in which usage was compared and uncollected amounts were added up. */
  readonly since: Date;
  readonly reserved: ReservedCredit;
  /** What accounts did not pay in this period. */
  readonly uncollected: readonly UncollectedSum[];
  /** The holds of requests on this node. */
  readonly held: { readonly holds: number; readonly nanoUsd: bigint };
  readonly checkedAt: Date;
}

const MAX_MISMATCHES = 100;
const HOUR_MS = 60 * 60_000;

/** Compares balances with ledgers and usage with audit entries. */
export class Reconciler {
  readonly #reader: PostgresReconciliation;
  readonly #credits: Pick<Credits, "outstanding">;
  readonly #now: () => Date;
  #last: ReconciliationReport | null = null;

  constructor(reader: PostgresReconciliation, credits: Pick<Credits, "outstanding">, now: () => Date) {
    this.#reader = reader;
    this.#credits = credits;
    this.#now = now;
  }

  /** The report of the last check; `null` before the first. */
  get last(): ReconciliationReport | null {
    return this.#last;
  }

  /** @param hours the past hours of usage to compare with the entries. */
  async check(hours: number): Promise<ReconciliationReport> {
    const checkedAt = this.#now();
    const since = new Date(Math.floor(checkedAt.getTime() / HOUR_MS - hours) * HOUR_MS);
    this.#last = {
      mismatches: await this.#reader.findMismatches(MAX_MISMATCHES),
      usageMismatches: await this.#reader.findUsageMismatches(since, MAX_MISMATCHES),
      since,
      reserved: await this.#reader.readReserved(),
      uncollected: await this.#reader.readUncollected(since),
      held: this.#credits.outstanding(),
      checkedAt,
    };
    return this.#last;
  }
}
