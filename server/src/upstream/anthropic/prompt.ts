import { CallIds, messagesCallId } from "../../conversation/call-ids.ts";
import {
  type AssistantPart,
  cannot,
  type FilePart,
  type ImagePart,
  type MediaSource,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { textIn } from "../../conversation/media.ts";
import type { JsonObject } from "../../json/json.ts";
import { EarlierCallInputs, resultWithoutCall } from "../earlier-calls.ts";
import { PairedCalls } from "../paired-calls.ts";
import { given } from "../write-conversation.ts";
import type { CacheBreakpoints } from "./cache-breakpoints.ts";
import { type Group, isBlank, isWritten, sidesOf } from "./sides.ts";

const LATE_INSTRUCTIONS = "mid-conversation-system-2026-04-07";
const PDFS = "pdfs-2024-09-25";

interface Prompt {
  /** `null`: there are no instructions. */
  readonly system: readonly JsonObject[] | null;
  readonly messages: readonly JsonObject[];
  /** The features that the messages need. */
  readonly betas: ReadonlySet<string>;
}

interface PromptOptions {
  readonly breakpoints: CacheBreakpoints;
  /** As of {@link sidesOf}. */
  readonly takesLateInstructions: boolean;
  /** Whether the model is asked to think. */
  readonly isThinking: boolean;
}

/**
 * The turns of a conversation as messages. Turns of one side that follow each other become one message.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function promptOf(turns: readonly Turn[], options: PromptOptions): Prompt {
  const writer = new PromptWriter(options);
  const groups = sidesOf(turns, options.takesLateInstructions);
  groups.forEach((group, index) => {
    writer.write(group, index === groups.length - 1);
  });
  return writer;
}

class PromptWriter implements Prompt {
  system: readonly JsonObject[] | null = null;
  readonly messages: JsonObject[] = [];
  readonly betas = new Set<string>();
  readonly #breakpoints: CacheBreakpoints;
  readonly #isThinking: boolean;
  readonly #calls = new PairedCalls(new CallIds(messagesCallId).next);
  readonly #inputs = new EarlierCallInputs();

  constructor({ breakpoints, isThinking }: PromptOptions) {
    this.#breakpoints = breakpoints;
    this.#isThinking = isThinking;
  }

  write({ side, turns }: Group, isLast: boolean): void {
    if (side === "system") {
      this.#instructions(
        turns.flatMap((turn) => (turn.role === "system" ? this.#instructionBlocks(turn.parts) : [])),
      );
      return;
    }
    const content =
      side === "user"
        ? turns.flatMap((turn) => this.#userBlocks(turn))
        : this.#assistantBlocks(
            turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : [])),
            isLast,
          );
    // What the model was to continue may have been white space.
    if (content.length > 0) this.messages.push({ role: side, content });
  }

  /** Those before the conversation are a field of their own. Anthropic refuses several messages of them in a row. */
  #instructions(blocks: readonly JsonObject[]): void {
    if (this.messages.length === 0) {
      this.system = blocks;
      return;
    }
    this.betas.add(LATE_INSTRUCTIONS);
    this.messages.push({ role: "system", content: blocks });
  }

  /** Instructions are one block, or several where parts of them are to be cached. */
  #instructionBlocks(parts: readonly TextPart[]): readonly JsonObject[] {
    if (parts.some(({ cache }) => cache !== null)) return parts.flatMap((part) => this.#text(part));
    const text = parts.map((part) => part.text).join("\n");
    return isBlank(text) ? [] : [{ type: "text", text }];
  }

  #userBlocks(turn: Turn): readonly JsonObject[] {
    if (turn.role === "tool") return turn.parts.map((part) => this.#result(part));
    return turn.role === "user" ? turn.parts.flatMap((part) => this.#userBlock(part)) : [];
  }

  #userBlock(part: UserPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#text(part);
      case "audio":
        throw cannot(part.at, "is audio, which this model's provider does not support");
      case "image":
      case "file":
        return [{ ...this.#media(part), ...this.#breakpoints.of(part.cache) }];
    }
  }

  #text({ text, cache }: Pick<TextPart, "text" | "cache">): readonly JsonObject[] {
    return isBlank(text) ? [] : [{ type: "text", text, ...this.#breakpoints.of(cache) }];
  }

  #media(part: ImagePart | FilePart): JsonObject {
    const { source } = part;
    if (isImage(part)) return { type: "image", source: sourceOf(source) };
    const title = part.kind === "file" ? given(part.filename) : undefined;
    const data = textIn(source);
    if (data !== null) {
      return { type: "document", source: { type: "text", media_type: "text/plain", data }, title };
    }
    if (source.kind === "data" && source.mediaType !== "application/pdf") {
      throw cannot(part.at, "must be an image, a PDF or a text for this model");
    }
    this.betas.add(PDFS);
    return { type: "document", source: sourceOf(source), title };
  }

  #result({ callId, parts, isError, cache, at }: ToolResultPart): JsonObject {
    const call = this.#calls.takeCall(callId);
    if (call === undefined) throw resultWithoutCall(at);
    const written = parts.filter((part) => part.kind !== "text" || !isBlank(part.text));
    const texts = written.flatMap((part) => (part.kind === "text" ? [part.text] : []));
    const content =
      texts.length === written.length
        ? texts.join("\n")
        : written.map((part) =>
            part.kind === "text" ? { type: "text", text: part.text } : this.#media(part),
          );
    return {
      type: "tool_result",
      tool_use_id: call.id,
      content,
      is_error: isError || undefined,
      ...this.#breakpoints.of(cache),
    };
  }

  /**
   * @param isLast Whether the model is to continue them. Anthropic refuses those that end with white space, or with a thought, and those that have
   *   a thought if the model is not asked to think.
   */
  #assistantBlocks(parts: readonly AssistantPart[], isLast: boolean): readonly JsonObject[] {
    this.#calls.beginTurn();
    const hidesThoughts = isLast && !this.#isThinking;
    const sent = parts.filter((part) => isWritten(part) && !(hidesThoughts && part.kind === "reasoning"));
    const written = isLast ? sent.slice(0, sent.findLastIndex(({ kind }) => kind !== "reasoning") + 1) : sent;
    const blocks = written.flatMap((part, index) =>
      this.#assistantBlock(part, isLast && index === written.length - 1),
    );
    return withCallsLast(blocks);
  }

  #assistantBlock(part: AssistantPart, isLast: boolean): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
      case "refusal":
        return this.#text({ text: isLast ? part.text.trim() : part.text, cache: part.cache });
      case "reasoning":
        return thoughtBlocks(part);
      case "image":
        return [];
      case "call":
        return [this.#call(part)];
    }
  }

  #call(part: ToolCallPart): JsonObject {
    const { name, cache } = part;
    const input = this.#inputs.objectOf(part);
    return { type: "tool_use", id: this.#calls.add(part), name, input, ...this.#breakpoints.of(cache) };
  }
}

/** Whether a part is an image, and not a document: what the data is decides, not the field that the client has it in. */
export function isImage({ kind, source }: ImagePart | FilePart): boolean {
  return source.kind === "url" ? kind === "image" : source.mediaType.startsWith("image/");
}

/** A thought with the signature without which Anthropic refuses it. One that it does not show is encrypted. */
function thoughtBlocks({ text, signature }: ReasoningPart): readonly JsonObject[] {
  const { signature: proof, redactedData } = signature?.fields ?? {};
  if (proof !== undefined) return [{ type: "thinking", thinking: text, signature: proof }];
  return redactedData === undefined ? [] : [{ type: "redacted_thinking", data: redactedData }];
}

/** Calls come after the texts between two thoughts: Anthropic refuses texts between a call and its result. */
function withCallsLast(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const ordered: JsonObject[] = [];
  let calls: JsonObject[] = [];
  for (const block of blocks) {
    if (block.type === "tool_use") {
      calls.push(block);
      continue;
    }
    if (block.type !== "text") {
      ordered.push(...calls);
      calls = [];
    }
    ordered.push(block);
  }
  return [...ordered, ...calls];
}

function sourceOf(source: MediaSource): JsonObject {
  return source.kind === "url"
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: source.mediaType, data: source.data };
}
