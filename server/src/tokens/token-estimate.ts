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
/** How many windows of a text are counted before those of other texts get their turn. */
const WINDOWS_AT_ONCE = 4;
/** English prose has 4 to 5 characters a token, source text 3. */
const CHARACTERS_PER_TOKEN = 3;
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

/** Counts the tokens of texts, all together. */
type CountTokens = (texts: readonly string[]) => Promise<number>;

/** Estimates the usage that an upstream did not report. */
export class TokenEstimator {
  readonly #count: CountTokens;

  /** While `count` fails, tokens are estimated from the length of a text. */
  constructor(count: CountTokens) {
    this.#count = count;
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
    const [promptTokens, completionTokens] = await Promise.all([
      this.#tokensOf(prompt.text),
      this.#tokensOf(answer),
    ]);
    return {
      promptTokens: promptTokens + prompt.messages * TOKENS_PER_MESSAGE,
      completionTokens,
      cachedTokens: 0,
    };
  }

  /** Counts the tokens of a prompt. Of a long prompt, only samples are counted. */
  async quickCountOf({ text, messages }: PromptText): Promise<number> {
    return (await this.#tokensOf(text, QUICK_WINDOWS)) + messages * TOKENS_PER_MESSAGE;
  }

  /** Starts what counts, for a request that will need it. */
  prepare(): void {
    this.#count([]).catch(() => {});
  }

  /** Counts the tokens of a text in windows: all windows of a short text, and `maxWindows` of a long one, evenly distributed. */
  async #tokensOf(text: TextTally, maxWindows = MAX_WINDOWS): Promise<number> {
    if (text.isEmpty) return 0;
    const beginning = text.beginning();
    const windows = windowsOf(beginning, maxWindows);
    let tokens = 0;
    let characters = 0;
    for (let index = 0; index < windows.length; index += WINDOWS_AT_ONCE) {
      const some = windows.slice(index, index + WINDOWS_AT_ONCE);
      const length = some.reduce((sum, window) => sum + window.length, 0);
      tokens += await this.#count(some).catch(() => length / CHARACTERS_PER_TOKEN);
      characters += length;
    }
    return Math.ceil(tokens * (beginning.length / characters) * text.share());
  }
}

function windowsOf(text: string, maxWindows: number): readonly string[] {
  const windows = Math.ceil(text.length / WINDOW_CHARACTERS);
  const counted = Math.min(windows, maxWindows);
  return Array.from({ length: counted }, (_, index) => {
    const start = Math.floor((index * windows) / counted) * WINDOW_CHARACTERS;
    return text.slice(start, start + WINDOW_CHARACTERS);
  });
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
