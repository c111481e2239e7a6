import { browserStore } from "../../components/storage.ts";

/** The columns that can be hidden or shown, in their order. Time, model and status are always there. */
export const COLUMNS = ["key", "upstream", "tokens", "cost", "latency", "firstToken", "source"] as const;
/** `account`: in the log of all accounts only. */
export type Column = "account" | (typeof COLUMNS)[number];

export const COLUMN_NAMES: Readonly<Record<Column, string>> = {
  account: "Account",
  key: "Key",
  upstream: "Upstream",
  tokens: "Tokens",
  cost: "Cost",
  latency: "Latency",
  firstToken: "First token",
  source: "Source IP",
};

const WIDTHS: Readonly<Record<Column, string>> = {
  account: "minmax(0, 1fr)",
  key: "minmax(0, 1fr)",
  upstream: "minmax(0, 0.8fr)",
  tokens: "4.4rem",
  cost: "max(6.9rem, var(--entry-cost-digits) * 1ch)",
  latency: "4.2rem",
  firstToken: "5rem",
  source: "8.9rem",
};
const KEPT_AS = "audit-columns";
const DEFAULT: readonly Column[] = ["key", "tokens", "cost", "latency", "source"];

/** The columns that this browser shows. */
export function readColumns(): readonly Column[] {
  const kept = browserStore.read(KEPT_AS);
  return kept === null ? DEFAULT : columnsOf(kept);
}

export function keepColumns(columns: readonly Column[]): void {
  browserStore.write(KEPT_AS, columns.join(","));
}

/** The columns of a stored text. Names that are not known are left out. */
export function columnsOf(text: string): readonly Column[] {
  const names = text.split(",");
  return COLUMNS.filter((column) => names.includes(column));
}

/** The columns with one shown or hidden. */
export function withColumn(columns: readonly Column[], column: Column, isShown: boolean): readonly Column[] {
  return COLUMNS.filter((one) => (one === column ? isShown : columns.includes(one)));
}

function isBeforeModel(column: Column): column is "account" | "key" {
  return column === "account" || column === "key";
}

/** The columns after that of the status. */
export function afterStatus(columns: readonly Column[]): readonly Exclude<Column, "account" | "key">[] {
  return columns.filter((column) => !isBeforeModel(column));
}

/** The grid of a row: the widths of its columns, and which of them is that of the status. */
export function gridOf(columns: readonly Column[]): { readonly widths: string; readonly status: number } {
  const widthsOf = (some: readonly Column[]) => some.map((column) => WIDTHS[column]);
  const rest = widthsOf(afterStatus(columns));
  const before = ["6.8rem", ...widthsOf(columns.filter(isBeforeModel)), "minmax(0, 1.5fr)"];
  return {
    // The longest error code has 28 characters.
    widths: [...before, "clamp(6.5rem, 13cqi, 12.7rem)", ...rest, "2rem"].join(" "),
    status: before.length + 1,
  };
}
