import { CliError } from "./cli-error.ts";

const NANO_PER_USD = 1_000_000_000n;
const USD = /^(-?)(\d{1,7})(?:\.(\d{1,9}))?$/;

/** US dollars as people write them, to nano-USD. @throws {CliError} */
export function nanoUsdOf(text: string): bigint {
  const [, sign, whole, fraction = ""] = USD.exec(text) ?? [];
  if (whole === undefined) {
    throw new CliError(`"${text}" is not an amount in US dollars, such as 25 or 0.005 or -10.`);
  }
  const amount = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(9, "0"));
  return sign === "-" ? -amount : amount;
}

/** Nano-USD as people read them: at least two decimals, as many as it takes. */
export function usdOf(nanoUsd: bigint): string {
  const absolute = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const fraction = (absolute % NANO_PER_USD)
    .toString()
    .padStart(9, "0")
    .replace(/0{1,7}$/, "");
  return `${nanoUsd < 0n ? "-" : ""}${absolute / NANO_PER_USD}.${fraction} USD`;
}
