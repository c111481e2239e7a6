import type { CountTokens } from "./token-estimate.ts";

/** Loads OpenAI's current tokenizer, which takes 70 MB. Other vendors' counts differ by some percent. */
export async function loadTokenizer(): Promise<CountTokens> {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Text that looks like a special token counts as text: people may write about tokenizers.
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, options);
}
