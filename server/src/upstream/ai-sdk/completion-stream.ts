import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Json, JsonObject } from "../../json/json.ts";
import { type AnswerHead, extraOf, finishOf, openAiUsage } from "./completion.ts";

/** Turns the parts of a streamed answer into OpenAI's chunks, one after the other. */
export class ChunkWriter {
  readonly #head: AnswerHead;
  readonly #includeUsage: boolean;
  /** Calls by the id of their input, in the order of their beginning. */
  readonly #calls = new Map<string, number>();
  #hasRole = false;
  #usage: LanguageModelV4Usage | null = null;
  #isFinished = false;

  constructor(head: AnswerHead, includeUsage: boolean) {
    this.#head = head;
    this.#includeUsage = includeUsage;
  }

  /** The usage that the upstream has reported; `null` before. */
  get usage(): LanguageModelV4Usage | null {
    return this.#usage;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  chunksOf(part: LanguageModelV4StreamPart): readonly JsonObject[] {
    switch (part.type) {
      case "text-delta":
        return this.#delta({ content: part.delta });
      case "reasoning-delta":
        return this.#delta({ reasoning_content: part.delta });
      case "tool-input-start":
        return part.providerExecuted === true ? [] : this.#begin(part.id, part.toolName);
      case "tool-input-delta":
        return this.#argument(part.id, part.delta);
      case "tool-call":
        return part.providerExecuted === true ? [] : this.#call(part);
      case "finish": {
        this.#usage = part.usage;
        this.#isFinished = true;
        const usage = openAiUsage(part.usage);
        const finish = finishOf(part.finishReason, this.#calls.size > 0);
        return [
          ...(this.#hasRole ? [] : this.#delta({ content: "" })),
          this.#chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: finish }]),
          ...(this.#includeUsage && usage !== null ? [{ ...this.#chunk([]), usage }] : []),
        ];
      }
      default:
        return [];
    }
  }

  #begin(id: string, name: string, extra: JsonObject = {}): readonly JsonObject[] {
    const index = this.#calls.size;
    this.#calls.set(id, index);
    const call = { index, id, type: "function", function: { name, arguments: "" }, ...extra };
    return this.#delta({ tool_calls: [call] });
  }

  #argument(id: string, text: string): readonly JsonObject[] {
    const index = this.#calls.get(id);
    if (index === undefined || text === "") return [];
    return this.#delta({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  /** Writes a complete call: its arguments if they were not streamed, and what belongs to it besides them. */
  #call(part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>): readonly JsonObject[] {
    const index = this.#calls.get(part.toolCallId);
    const extra = extraOf(part.providerMetadata);
    if (index === undefined) {
      return [
        ...this.#begin(part.toolCallId, part.toolName, extra),
        ...this.#argument(part.toolCallId, part.input),
      ];
    }
    return Object.keys(extra).length === 0 ? [] : this.#delta({ tool_calls: [{ index, ...extra }] });
  }

  #delta(delta: Readonly<Record<string, Json>>): readonly JsonObject[] {
    const role = this.#hasRole ? {} : { role: "assistant" };
    this.#hasRole = true;
    return [this.#chunk([{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason: null }])];
  }

  #chunk(choices: readonly Json[]): JsonObject {
    const { id, created, model } = this.#head;
    return { id, object: "chat.completion.chunk", created, model, choices };
  }
}
