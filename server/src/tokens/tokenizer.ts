import type { CountTokens } from "./token-estimate.ts";

/** OpenAI's present tokenizer: other vendors' differ from it by some percent. Loading it takes 70 MB and a moment. */
export async function loadTokenizer(): Promise<CountTokens> {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Text that looks like a special token is text: whoever writes about tokenizers gets an answer too.
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, options);
}
