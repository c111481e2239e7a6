const USD = /^\$?\s*(\d{1,7})(?:\.(\d{1,9}))?$/;

/** Parses a typed amount of US dollars into nano-USD, exactly, without floating point. @returns `null` for other texts. */
export function nanoUsdOf(text: string): bigint | null {
  const [, whole, fraction = ""] = USD.exec(text.trim()) ?? [];
  return whole === undefined ? null : BigInt(whole + fraction.padEnd(9, "0"));
}
