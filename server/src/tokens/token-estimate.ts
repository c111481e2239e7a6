import { isJsonObject, type JsonObject } from "../json/json.ts";
import { TextTally } from "./text-tally.ts";

/**
 * A tokenizer's time grows with the square of what it can't split: 50,000 times "a" at once takes seconds. In pieces of
 * this length a megabyte of anything takes milliseconds, and the count differs by half a percent at most.
 */
const WINDOW_CHARACTERS = 1_024;
/** What a message takes beside its text: its role and the marks around it. */
const TOKENS_PER_MESSAGE = 4;

/** Tokens as the upstream counted them, checked to be whole numbers from 0 up. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt's tokens, those read from the upstream's cache. */
  readonly cachedTokens: number;
}

/** Counts the tokens of a short text. */
export type CountTokens = (text: string) => number;

/** Estimates what an upstream did not tell. */
export class TokenEstimator {
  readonly #load: () => Promise<CountTokens>;
  #count: Promise<CountTokens> | null = null;

  /** `load`: called when it is needed for the first time, as a tokenizer's tables take their memory. */
  constructor(load: () => Promise<CountTokens>) {
    this.#load = load;
  }

  /** What a chat request and as much of its answer as there was have taken, by the tokenizer. */
  async usageOf(request: JsonObject, answer: TextTally): Promise<Usage> {
    this.#count ??= this.#load();
    const count = await this.#count;
    const prompt = new TextTally();
    const messages = Array.isArray(request.messages) ? request.messages : [];
    for (const message of messages) addText(message, prompt);
    addText(request.tools ?? null, prompt);
    addText(request.input ?? null, prompt);
    return {
      promptTokens:
        tokensOf(prompt, count) + messages.length * TOKENS_PER_MESSAGE + numbersIn(request.input ?? null),
      completionTokens: tokensOf(answer, count),
      cachedTokens: 0,
    };
  }
}

function tokensOf(text: TextTally, count: CountTokens): number {
  const beginning = text.beginning();
  let tokens = 0;
  for (let start = 0; start < beginning.length; start += WINDOW_CHARACTERS) {
    tokens += count(beginning.slice(start, start + WINDOW_CHARACTERS));
  }
  return Math.ceil(tokens * text.share());
}

/** What is to be embedded may come as tokens. */
function numbersIn(value: unknown): number {
  if (typeof value === "number") return 1;
  return Array.isArray(value) ? value.reduce((sum: number, item) => sum + numbersIn(item), 0) : 0;
}

/** All strings in a value that are written by or for a model; images and the like have none that counts. */
function addText(value: unknown, tally: TextTally): void {
  if (typeof value === "string") {
    tally.add(value);
  } else if (Array.isArray(value)) {
    for (const item of value) addText(item, tally);
  } else if (isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      if (name !== "image_url" && name !== "input_audio" && name !== "file") addText(item, tally);
    }
  }
}

/** What a choice of an answer, whole or a chunk's, has produced: text, refusals, reasoning, calls of tools. */
export function addProduced(choices: unknown, tally: TextTally): void {
  if (!Array.isArray(choices)) return;
  for (const choice of choices) {
    if (!isJsonObject(choice)) continue;
    const produced = choice.delta ?? choice.message;
    if (!isJsonObject(produced)) continue;
    for (const name of ["content", "refusal", "reasoning", "reasoning_content"]) {
      addText(produced[name] ?? null, tally);
    }
    const calls = Array.isArray(produced.tool_calls) ? produced.tool_calls : [];
    for (const call of calls) if (isJsonObject(call)) addText(call.function ?? null, tally);
  }
}
