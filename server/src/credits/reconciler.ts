import type { AccountId } from "../contract/account.ts";
import type { KeyUuid } from "../contract/key.ts";
import type { Credits } from "./credits.ts";
import type { BalanceMismatch } from "./ledger.ts";
import type { PostgresReconciliation } from "./reconciliation-store.ts";

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

/** What nodes have set aside for requests, together. */
export interface ReservedCredit {
  readonly reservations: number;
  readonly nanoUsd: bigint;
  /** Of it, by nodes that have not been seen for a minute. */
  readonly stuckNanoUsd: bigint;
}

/** What accounts did not pay, for one reason: that of an {@link Uncollected}, or another in words. */
export interface UncollectedSum {
  readonly reason: string;
  readonly accounts: number;
  readonly nanoUsd: bigint;
}

export interface ReconciliationReport {
  /** Accounts whose balance is not the sum of their ledger, or is negative: there should be none. */
  readonly mismatches: readonly BalanceMismatch[];
  /** There should be none. */
  readonly usageMismatches: readonly UsageMismatch[];
  /** From when on usage was compared, and uncollected amounts were added up. */
  readonly since: Date;
  /** Set aside by all nodes. */
  readonly reserved: ReservedCredit;
  /** What was answered since then and is not paid. */
  readonly uncollected: readonly UncollectedSum[];
  /** By this node: held for requests that are being answered. */
  readonly held: { readonly holds: number; readonly nanoUsd: bigint };
  readonly checkedAt: Date;
}

const MAX_MISMATCHES = 100;
const HOUR_MS = 60 * 60_000;

/** Whether all sums are right, which nothing should ever have made wrong. */
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

  /** What the last check has found; `null` before the first. */
  get last(): ReconciliationReport | null {
    return this.#last;
  }

  /** @param hours of usage that are compared with the entries, up to now. */
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
