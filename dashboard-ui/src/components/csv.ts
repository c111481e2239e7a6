import { formatCounted } from "./format.ts";
import { toast } from "./toast.ts";

/**
 * The byte order mark, at the beginning of CSV files that a browser saves: without it, Excel takes their UTF-8 for another encoding. What the API and
 * the command line export is for scripts and has none.
 */
export const BYTE_ORDER_MARK = "\uFEFF";

/** A column of a CSV file. */
export interface CsvColumn<Row> {
  readonly name: string;
  readonly read: (row: Row) => string | number | bigint | Date | null;
}

/**
 * Before the sign with which a formula begins, which in some locales may be a full-width one: at the beginning of a text, or after a
 * semicolon, which separates fields in others, even if quotes precede it. Some spreadsheets skip spaces before the sign.
 */
const FORMULA = /(^|;"*)(?=[\s\u200b\u2060]*[=+\-@\t\r\n＝＋－＠])/g;

/** The rows as CSV (RFC 4180). Text that a spreadsheet would run as a formula is quoted with an apostrophe. */
function csvOf<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ name }) => name),
    ...rows.map((row) => columns.map(({ read }) => cell(read(row)))),
  ];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

function cell(value: string | number | bigint | Date | null): string {
  if (value === null) return "";
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "string") return String(value);
  const safe = value.replaceAll(FORMULA, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The maximum number of rows of an export. */
export const MAX_ROWS = 10_000;

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/** Reads up to 10,000 rows, page by page, and downloads them as a CSV file, sorted if there is a comparison. */
export async function exportCsv<Row>(
  name: string,
  columns: readonly CsvColumn<Row>[],
  readPage: (cursor: string | undefined) => Promise<Page<Row>>,
  compare?: (one: Row, other: Row) => number,
): Promise<void> {
  const rows: Row[] = [];
  let next: string | null | undefined;
  do {
    const page = await readPage(next ?? undefined);
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null && rows.length < MAX_ROWS);
  if (compare !== undefined) rows.sort(compare);
  downloadCsv(`${name}-${new Date().toISOString().slice(0, 10)}`, columns, rows);
  toast(
    `${formatCounted(rows.length, "row")} exported`,
    next === null ? undefined : "The list has more rows. Filter it to export the others.",
  );
}

/** Downloads rows as a CSV file. The name is without `.csv`. */
export function downloadCsv<Row>(
  name: string,
  columns: readonly CsvColumn<Row>[],
  rows: readonly Row[],
): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, csvOf(columns, rows)], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.csv`;
  link.click();
  // By then, the download has taken over the blob.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
