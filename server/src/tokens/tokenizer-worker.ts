// Counts tokens in a thread of its own: see tokenizer-thread.ts. With OpenAI's current tokenizer; other providers' counts differ by some percent.
import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { TokenizerResult, TokenizerTask } from "./tokenizer-thread.ts";

// Text that looks like a special token counts as text: people may write about tokenizers.
const OPTIONS = { disallowedSpecial: new Set<string>() };

parentPort?.on("message", ({ id, texts }: TokenizerTask) => {
  const tokens = texts.reduce((sum, text) => sum + countTokens(text, OPTIONS), 0);
  parentPort?.postMessage({ id, tokens } satisfies TokenizerResult);
});
