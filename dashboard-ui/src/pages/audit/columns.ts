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

interface Width {
  /** A length of CSS. */
  readonly min: string;
  /** The column's part of the space that is left; absent: none. */
  readonly flex?: number;
}

const TIME: Width = { min: "5.6rem" };
const MODEL: Width = { min: "6.5rem", flex: 1.5 };
const OPEN: Width = { min: "2rem" };
const WIDTHS: Readonly<Record<Column, Width>> = {
  account: { min: "5rem", flex: 1 },
  key: { min: "5rem", flex: 1 },
  upstream: { min: "5.5rem", flex: 0.8 },
  tokens: { min: "4.4rem" },
  cost: { min: "max(5.2rem, var(--entry-cost-digits) * 1ch)" },
  latency: { min: "4.2rem" },
  firstToken: { min: "5rem" },
  source: { min: "8.4rem" },
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

/** The grid of a row. */
interface Grid {
  /** The widths of its columns. */
  readonly widths: string;
  /** Its width below which the table scrolls sideways. */
  readonly min: string;
  /** The number of the column of the status. */
  readonly status: number;
}

export function gridOf(columns: readonly Column[]): Grid {
  const widthsOf = (some: readonly Column[]) => some.map((column) => WIDTHS[column]);
  const rest = widthsOf(afterStatus(columns));
  const before = [TIME, ...widthsOf(columns.filter(isBeforeModel)), MODEL];
  // An error code continues below the columns after the status. The longest has 28 characters.
  const status: Width = { min: rest.length < 2 ? "12.7rem" : "5.2rem" };
  const all = [...before, status, ...rest, OPEN];
  const trackOf = ({ min, flex }: Width) => (flex === undefined ? min : `minmax(${min}, ${flex}fr)`);
  return {
    widths: all.map(trackOf).join(" "),
    min: `calc(${all.map(({ min }) => min).join(" + ")} + ${all.length - 1} * var(--entry-gap) + var(--entry-padding))`,
    status: before.length + 1,
  };
}
