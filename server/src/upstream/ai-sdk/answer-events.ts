import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { readUsage } from "../openai/usage.ts";

/** What providers want back with a thought or a tool call. */
const SIGNATURE_FIELDS = ["signature", "redactedData", "thoughtSignature"];

/** The events of a whole answer. */
export function eventsOfResult(result: LanguageModelV4GenerateResult): readonly AnswerEvent[] {
  const events: AnswerEvent[] = [];
  const { structuredOutputText } = result;
  let calls = 0;
  for (const part of result.content) {
    if (part.type === "text" && structuredOutputText === undefined) {
      events.push({ kind: "text", text: part.text });
    } else if (part.type === "reasoning") {
      events.push(
        { kind: "reasoning", text: part.text },
        { kind: "reasoning-end", signature: signatureOf(part.providerMetadata) },
      );
    } else if (part.type === "tool-call" && part.providerExecuted !== true) {
      const call = calls++;
      const signature = signatureOf(part.providerMetadata);
      events.push(
        { kind: "call", call, id: part.toolCallId, name: part.toolName, signature },
        { kind: "call-input", call, text: part.input },
        { kind: "call-end", call, signature },
      );
    }
  }
  if (structuredOutputText !== undefined) events.push({ kind: "text", text: structuredOutputText });
  return [...events, finishEvent(result.finishReason, result.usage, calls)];
}

type CallPart = Pick<
  Extract<LanguageModelV4StreamPart, { type: "tool-call" }>,
  "toolName" | "providerMetadata"
>;

/** Turns the parts of a streamed answer into events, one after the other. */
export class PartReader {
  /** Calls by the id of their input, and whether any input has come. */
  readonly #calls = new Map<string, { readonly call: number; hasInput: boolean }>();
  #isFinished = false;

  get isFinished(): boolean {
    return this.#isFinished;
  }

  eventsOf(part: LanguageModelV4StreamPart): readonly AnswerEvent[] {
    switch (part.type) {
      case "text-delta":
        return [{ kind: "text", text: part.delta }];
      case "reasoning-delta":
        return [{ kind: "reasoning", text: part.delta }, ...this.#signed(part.id, part.providerMetadata)];
      case "reasoning-start":
        this.#signed(part.id, part.providerMetadata);
        return [];
      case "reasoning-end":
        this.#signed(part.id, part.providerMetadata);
        return this.#endReasoning(part.id);
      case "tool-input-start":
        return part.providerExecuted === true ? [] : [this.#begin(part.id, part)];
      case "tool-input-delta":
        return this.#input(part.id, part.delta);
      case "tool-call":
        return part.providerExecuted === true ? [] : this.#call(part);
      case "finish":
        this.#isFinished = true;
        return [finishEvent(part.finishReason, part.usage, this.#calls.size)];
      default:
        return [];
    }
  }

  /** The signatures of thoughts, by their id. Providers send them with any part of a thought. */
  readonly #signatures = new Map<string, Signature>();

  #signed(id: string, metadata: SharedV4ProviderMetadata | undefined): readonly AnswerEvent[] {
    const signature = signatureOf(metadata);
    if (signature !== null) this.#signatures.set(id, signature);
    return [];
  }

  #endReasoning(id: string): readonly AnswerEvent[] {
    const signature = this.#signatures.get(id) ?? null;
    this.#signatures.delete(id);
    return [{ kind: "reasoning-end", signature }];
  }

  #begin(id: string, { toolName: name, providerMetadata }: CallPart): AnswerEvent {
    const call = this.#calls.size;
    this.#calls.set(id, { call, hasInput: false });
    return { kind: "call", call, id, name, signature: signatureOf(providerMetadata) };
  }

  #input(id: string, text: string): readonly AnswerEvent[] {
    const known = this.#calls.get(id);
    if (known === undefined || text === "") return [];
    known.hasInput = true;
    return [{ kind: "call-input", call: known.call, text }];
  }

  /** A complete call: its input if it was not streamed, and what belongs to it besides. */
  #call(part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>): readonly AnswerEvent[] {
    const beginning = this.#calls.has(part.toolCallId) ? [] : [this.#begin(part.toolCallId, part)];
    const known = this.#calls.get(part.toolCallId);
    if (known === undefined) return [];
    const input = known.hasInput ? [] : this.#input(part.toolCallId, part.input);
    const signature = signatureOf(part.providerMetadata);
    return [...beginning, ...input, { kind: "call-end", call: known.call, signature }];
  }
}

function signatureOf(metadata: SharedV4ProviderMetadata | undefined): Signature | null {
  for (const [provider, values] of Object.entries(metadata ?? {})) {
    const found = SIGNATURE_FIELDS.flatMap((name) => {
      const value = values[name];
      return typeof value === "string" ? [[name, value] as const] : [];
    });
    if (found.length > 0) return { provider, fields: Object.fromEntries(found) };
  }
  return null;
}

function finishEvent(
  reason: LanguageModelV4FinishReason,
  usage: LanguageModelV4Usage,
  calls: number,
): AnswerEvent {
  return { kind: "finish", reason: finishOf(reason, calls > 0), stopSequence: null, usage: usageOf(usage) };
}

function finishOf({ unified }: LanguageModelV4FinishReason, hasCalls: boolean): FinishReason {
  if (unified === "length") return "length";
  if (unified === "content-filter") return "filter";
  // Some servers finish calls of tools like any other answer.
  return unified === "tool-calls" || hasCalls ? "calls" : "stop";
}

/** The usage, validated like any upstream's; `null` when the provider has reported none. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | null {
  const parts = (inputTokens.noCache ?? 0) + (inputTokens.cacheRead ?? 0) + (inputTokens.cacheWrite ?? 0);
  const prompt = inputTokens.total ?? (parts > 0 ? parts : undefined);
  const completion = outputTokens.total;
  if (prompt === undefined && completion === undefined) return null;
  return readUsage({
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    prompt_tokens_details: {
      cached_tokens: inputTokens.cacheRead ?? 0,
      cache_write_tokens: inputTokens.cacheWrite ?? 0,
    },
    completion_tokens_details: { reasoning_tokens: outputTokens.reasoning ?? 0 },
  });
}
