const NANO_DIGITS = 9;

/** Rows with their columns below each other, each as wide as its widest cell. */
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

/** The same below a head. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return columns([head, ...rows]);
}

/** Money travels as decimal strings: JSON has no integers of that size. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part), 2);
}

/** An amount in US dollars, exactly. */
export function usdOf(nanoUsd: bigint): string {
  const sign = nanoUsd < 0n ? "-" : "";
  const digits = (nanoUsd < 0n ? -nanoUsd : nanoUsd).toString().padStart(NANO_DIGITS + 1, "0");
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, "").padEnd(2, "0");
  return `${sign}${digits.slice(0, -NANO_DIGITS)}.${fraction}`;
}
