import type { LedgerEntry } from "../../api/types.ts";

/** The charges of one day, as one line of the ledger. */
export interface DayOfCharges {
  readonly kind: "charges";
  readonly id: string;
  /** The time of the newest charge. */
  readonly at: Date;
  readonly amountNanoUsd: bigint;
  readonly count: number;
}

/** A line of the ledger for display. */
export type LedgerLine = DayOfCharges | (LedgerEntry & { readonly kind: "grant" | "adjustment" });

/**
 * Joins consecutive charges of a day, in the browser's zone. A busy account has charges every second, which would hide its
 * grants.
 */
export function ledgerLines(entries: readonly LedgerEntry[]): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (const { kind, ...entry } of entries) {
    if (kind !== "charge" && kind !== "uncollected") {
      lines.push({ kind, ...entry });
      continue;
    }
    const last = lines.at(-1);
    // The uncollected part of a charge reduces it, because the account did not pay it.
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
