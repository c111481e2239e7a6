import { usdOf as amountOf } from "../../../sdk/src/cli/output.ts";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";

export { addHelpCommands } from "../../../sdk/src/cli/help-command.ts";
export {
  columns,
  commandLogger,
  endWithOutput,
  forTerminal,
  timeoutOption,
  timeoutsOf,
  toJson,
  wholeNumber,
} from "../../../sdk/src/cli/output.ts";

const NANO_PER_USD = 1_000_000_000n;
const USD = /^(-?)(\d{1,7})(?:\.(\d{1,9}))?$/;

/** US dollars as people write them, to nano-USD. @throws {OstiaryError} */
export function nanoUsdOf(text: string): bigint {
  const [, sign, whole, fraction = ""] = USD.exec(text) ?? [];
  if (whole === undefined) {
    throw new OstiaryError(`"${text}" is not an amount in US dollars, such as 25 or 0.005 or -10.`);
  }
  const amount = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(9, "0"));
  return sign === "-" ? -amount : amount;
}

/** The lines of a list, or a sentence that says that it is empty. */
export function orNone(lines: readonly string[], none: string): readonly string[] {
  return lines.length === 0 ? [none] : lines;
}

/** How to read the next page of a list; empty after the last one. */
export function nextPage({ nextCursor }: { readonly nextCursor: string | null }): string[] {
  return nextCursor === null ? [] : [`more: --cursor ${nextCursor}`];
}

/** Nano-USD as people read them: exactly, with two decimals or more. */
export function usdOf(nanoUsd: string): string {
  return `${amountOf(nanoUsd)} USD`;
}
