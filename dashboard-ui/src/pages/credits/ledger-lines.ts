import type { LedgerEntry } from "../../api/types.ts";

/** The charges of a day that stand together in the ledger. */
export interface DayOfCharges {
  readonly kind: "charges";
  readonly id: string;
  /** When the newest of them was made. */
  readonly at: Date;
  readonly amountNanoUsd: bigint;
  readonly count: number;
}

/** A line of the ledger as people read it. */
export type LedgerLine = DayOfCharges | (LedgerEntry & { readonly kind: "grant" | "adjustment" });

/**
 * Joins charges of one day, by this browser's clock, that follow upon each other: a busy account has some every second,
 * and what was granted would be lost among them.
 */
export function ledgerLines(entries: readonly LedgerEntry[]): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (const { kind, ...entry } of entries) {
    if (kind !== "charge" && kind !== "uncollected") {
      lines.push({ kind, ...entry });
      continue;
    }
    const last = lines.at(-1);
    // What of a charge was not collected lessens it: the account did not pay that.
    const count = kind === "charge" ? 1 : 0;
    if (last?.kind !== "charges" || last.at.toDateString() !== entry.at.toDateString()) {
      const { id, at, amountNanoUsd } = entry;
      lines.push({ kind: "charges", id, at, amountNanoUsd, count });
    } else {
      const amountNanoUsd = last.amountNanoUsd + entry.amountNanoUsd;
      lines.splice(-1, 1, { ...last, amountNanoUsd, count: last.count + count });
    }
  }
  return lines;
}
