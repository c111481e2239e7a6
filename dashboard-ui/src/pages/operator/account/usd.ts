const USD = /^\$?\s*(\d{1,7})(?:\.(\d{1,9}))?$/;

/** A sum of US dollars as people write it, in nano-USD, exactly: no part of it is ever a float. @returns `null` for what is none. */
export function nanoUsdOf(text: string): bigint | null {
  const [, whole, fraction = ""] = USD.exec(text.trim()) ?? [];
  return whole === undefined ? null : BigInt(whole + fraction.padEnd(9, "0"));
}
