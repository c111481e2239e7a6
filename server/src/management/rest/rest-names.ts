/**
 * The rule by which REST writes the names of procedures' inputs and answers: in snake case. An amount in nano-USD, such as
 * `balanceNanoUsd`, is written in US dollars and named `balance_usd`.
 */
export function restNameOf(name: string): string {
  const named = isAmount(name) ? `${name.slice(0, -NANO_USD.length)}Usd` : name;
  return named.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const NANO_USD = "NanoUsd";

/** Whether a field of an answer is an amount in nano-USD. */
export function isAmount(name: string): boolean {
  return name.endsWith(NANO_USD);
}
