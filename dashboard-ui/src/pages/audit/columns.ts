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
  cost: "max(5.2rem, var(--entry-cost-digits) * 1ch)",
  latency: "4.2rem",
  firstToken: "5rem",
  source: "8.4rem",
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
  const before = ["5.6rem", ...widthsOf(columns.filter(isBeforeModel)), "minmax(0, 1.5fr)"];
  // An error code continues below the columns after the status. The longest has 28 characters.
  const status = rest.length < 2 ? "12.7rem" : "5.2rem";
  return {
    widths: [...before, status, ...rest, "2rem"].join(" "),
    status: before.length + 1,
  };
}
