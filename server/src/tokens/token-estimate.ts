import { setImmediate } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../json/json.ts";
import { arrayOf } from "../json/members.ts";
import { TextTally } from "./text-tally.ts";

/**
 * The time of a tokenizer grows with the square of what it can't split: 50,000 times "a" takes seconds. In pieces of this
 * length a megabyte of any text takes milliseconds, and the count differs by at most half a percent.
 */
const WINDOW_CHARACTERS = 1_024;
/** The windows of a long text that a quick count reads: to count 256 KB takes 25 ms of CPU time, and this less than 1 ms. */
const QUICK_WINDOWS = 8;
/** A window of random characters takes some milliseconds. */
const MAX_WINDOWS = 64;
const WINDOWS_AT_ONCE = 4;
/** The tokens of a message's role and delimiters. */
const TOKENS_PER_MESSAGE = 4;

/**
 * Tokens as the upstream counted them, checked to be whole numbers from 0 up. All but the first two are parts of the prompt or of the
 * completion, and never larger; an absent part is 0.
 */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The part of the prompt's tokens that the upstream read from its cache. */
  readonly cachedTokens: number;
  /** The part of the prompt's that it wrote to its cache for 5 minutes, or for a time that it does not tell. */
  readonly cacheWriteTokens?: number;
  /** The part of the prompt's that it wrote to its cache for an hour. */
  readonly cacheWrite1hTokens?: number;
  /** The part of the prompt's that are of recordings. */
  readonly audioPromptTokens?: number;
  /** The part of the prompt's that are of images. */
  readonly imagePromptTokens?: number;
  /** The part of the completion's that are of reasoning. */
  readonly reasoningTokens?: number;
  /** The part of the completion's that are of speech. */
  readonly audioCompletionTokens?: number;
  /** The part of the completion's that are of images. */
  readonly imageCompletionTokens?: number;
}

/** The usage of a request that no model was asked for. */
export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/** The part of a request that its model reads, to be counted. */
export interface PromptText {
  readonly text: TextTally;
  readonly messages: number;
}

/** Counts the tokens of a short text. */
type CountTokens = (text: string) => number;

/** Loads OpenAI's current tokenizer, which takes 70 MB. Other providers' counts differ by some percent. */
export async function loadTokenizer(): Promise<CountTokens> {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Text that looks like a special token counts as text: people may write about tokenizers.
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, options);
}

/** Estimates the usage that an upstream did not report. */
export class TokenEstimator {
  readonly #load: () => Promise<CountTokens>;
  #count: Promise<CountTokens> | null = null;

  /** `load` takes time, during which nothing else runs. It is called once: by {@link prepare}, or at the first estimate. */
  constructor(load: () => Promise<CountTokens>) {
    this.#load = load;
  }

  /** The tokens of a request and of its answer, complete or not. */
  async usageOf(request: JsonObject, answer: TextTally): Promise<Usage> {
    const { tools, instructions, input } = request;
    const messages = arrayOf(request.messages);
    const text = new TextTally();
    addText([messages, tools, instructions, input], text);
    const usage = await this.usageOfPrompt({ text, messages: messages.length }, answer);
    return { ...usage, promptTokens: usage.promptTokens + numbersIn(input) };
  }

  /** The tokens of a prompt and of its answer, complete or not. */
  async usageOfPrompt(prompt: PromptText, answer: TextTally): Promise<Usage> {
    const count = await this.prepare();
    return {
      promptTokens: (await tokensOf(prompt.text, count)) + prompt.messages * TOKENS_PER_MESSAGE,
      completionTokens: await tokensOf(answer, count),
      cachedTokens: 0,
    };
  }

  /** Counts the tokens of a prompt. Of a long prompt, only samples are counted. */
  async quickCountOf({ text, messages }: PromptText): Promise<number> {
    return (await tokensOf(text, await this.prepare(), QUICK_WINDOWS)) + messages * TOKENS_PER_MESSAGE;
  }

  /** Returns the tokenizer. A background job calls it first, so that no request has to wait until it is loaded. */
  async prepare(): Promise<CountTokens> {
    this.#count ??= this.#load();
    try {
      return await this.#count;
    } catch (error) {
      // The next estimate tries again.
      this.#count = null;
      throw error;
    }
  }
}

/** Counts the tokens of a text in windows: all windows of a short text, and `maxWindows` of a long one, evenly distributed. Between windows other requests get their turn. */
async function tokensOf(text: TextTally, count: CountTokens, maxWindows = MAX_WINDOWS): Promise<number> {
  const beginning = text.beginning();
  const windows = Math.ceil(beginning.length / WINDOW_CHARACTERS);
  const counted = Math.min(windows, maxWindows);
  let tokens = 0;
  let characters = 0;
  for (let index = 0; index < counted; index++) {
    const start = Math.floor((index * windows) / counted) * WINDOW_CHARACTERS;
    const window = beginning.slice(start, start + WINDOW_CHARACTERS);
    tokens += count(window);
    characters += window.length;
    if ((index + 1) % WINDOWS_AT_ONCE === 0) await setImmediate();
  }
  return characters === 0 ? 0 : Math.ceil(tokens * (beginning.length / characters) * text.share());
}

/** Counts numbers: the input of embeddings may be tokens. */
function numbersIn(value: unknown): number {
  if (typeof value === "number") return 1;
  return Array.isArray(value) ? value.reduce((sum: number, item) => sum + numbersIn(item), 0) : 0;
}

/** Members that contain no text: images, audio, files, and reasoning that only its provider can read. */
const NOT_TEXT = new Set(["image_url", "input_audio", "file", "file_data", "encrypted_content"]);

/** Adds all strings in a value that a model reads or writes, except {@link NOT_TEXT} and images that a model has produced. */
function addText(value: unknown, tally: TextTally): void {
  if (typeof value === "string") {
    tally.add(value);
  } else if (Array.isArray(value)) {
    for (const item of value) addText(item, tally);
  } else if (isJsonObject(value) && value.type !== "image_generation_call") {
    for (const [name, item] of Object.entries(value)) {
      if (!NOT_TEXT.has(name)) addText(item, tally);
    }
  }
}

/** The text of a whole answer's choices. */
export function producedBy(choices: unknown): TextTally {
  const tally = new TextTally();
  addProduced(choices, tally);
  return tally;
}

/** Adds what the choices of an answer or a chunk hold: text, refusals, reasoning and tool calls. */
export function addProduced(choices: unknown, tally: TextTally): void {
  if (!Array.isArray(choices)) return;
  for (const choice of choices) {
    if (!isJsonObject(choice)) continue;
    const produced = choice.delta ?? choice.message;
    if (!isJsonObject(produced)) continue;
    for (const name of ["content", "refusal", "reasoning", "reasoning_content"]) {
      addText(produced[name], tally);
    }
    const calls = arrayOf(produced.tool_calls);
    for (const call of calls) {
      if (!isJsonObject(call)) continue;
      addText(call.function, tally);
      addText(call.custom, tally);
    }
  }
}
