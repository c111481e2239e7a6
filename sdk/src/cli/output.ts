import { once } from "node:events";
import type { FileHandle } from "node:fs/promises";
import process from "node:process";

const NANO_DIGITS = 9;

/** Writes to a file, or to standard output if that is `null`. Resolves when more can be written without being kept in memory. */
export async function write(file: FileHandle | null, text: string): Promise<void> {
  if (file !== null) await file.appendFile(text);
  else if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/** Rows in aligned columns, each as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Rows in aligned columns below a header. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return columns([head, ...rows]);
}

/** Money is written as decimal strings, because JSON has no integers of that size. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part), 2);
}

/** An exact amount in US dollars. */
export function usdOf(nanoUsd: string): string {
  const sign = nanoUsd.startsWith("-") ? "-" : "";
  const digits = nanoUsd.slice(sign.length).padStart(NANO_DIGITS + 1, "0");
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, "").padEnd(2, "0");
  return `${sign}${digits.slice(0, -NANO_DIGITS)}.${fraction}`;
}
