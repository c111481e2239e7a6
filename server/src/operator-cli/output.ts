/** Prints answers: for people in lines and columns, for scripts as JSON. */
export class Output {
  readonly #write: (text: string) => void;
  readonly #json: boolean;

  constructor(write: (text: string) => void, json: boolean) {
    this.#write = write;
    this.#json = json;
  }

  /** `answer` for scripts, `lines` for people. */
  print(answer: unknown, lines: readonly string[]): void {
    this.#write(this.#json ? `${toJson(answer)}\n` : lines.map((line) => `${line}\n`).join(""));
  }
}

/** Money travels as decimal strings: JSON has no integers of that size. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part), 2);
}

/** Rows with their columns below each other. */
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
