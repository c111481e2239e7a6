import { type Attachment, newId } from "./attachment.ts";
import { type Speech, withSpeech } from "./speech.ts";

/** A model's answer, as received so far. */
export interface Answer {
  readonly text: string;
  /** The model's reasoning, if it sends any. */
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  /** The images that the model has produced. Absent in a message, where they are its attachments. */
  readonly images?: readonly Attachment[];
  /** What the model says, if it speaks. Absent in a message, which has it as an attachment. */
  readonly speech?: Speech;
  /** The reason why the answer ended; `null` until it has. */
  readonly finishReason: string | null;
  /** The model server's token counts, once it has sent them. */
  readonly usage: Usage | null;
}

export interface ToolCall {
  /** The id that the call's result names. */
  readonly id: string;
  readonly name: string;
  /** JSON, possibly incomplete. */
  readonly arguments: string;
  /** Data that the model server expects back with the call. */
  readonly extra?: unknown;
}

interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export const NO_ANSWER: Answer = {
  text: "",
  reasoning: "",
  calls: [],
  images: [],
  finishReason: null,
  usage: null,
};

/** Whether the answer has no content yet. */
export function isEmpty({ text, reasoning, calls, images = [], speech = [] }: Answer): boolean {
  const parts = [...calls, ...images, ...speech];
  return text === "" && reasoning === "" && parts.length === 0;
}

/**
 * Adds a chunk or a complete completion to an answer. Servers differ in the fields that they send beside OpenAI's;
 * unknown fields are ignored.
 */
export function extended(answer: Answer, chunk: unknown): Answer {
  const choice = member(member(chunk, "choices"), 0);
  const said = member(choice, "delta") ?? member(choice, "message");
  const finishReason = member(choice, "finish_reason");
  const audio = member(said, "audio");
  const speech = withSpeech(answer.speech, member(audio, "data"));
  const text = ["content", "refusal"].map((name) => textOf(member(said, name))).join("");
  return {
    text: answer.text + text + textOf(member(audio, "transcript")),
    reasoning:
      answer.reasoning + (textOf(member(said, "reasoning_content")) || textOf(member(said, "reasoning"))),
    calls: withCalls(answer.calls, member(said, "tool_calls")),
    images: withImages(answer.images ?? [], member(said, "images")),
    ...(speech === undefined ? {} : { speech }),
    finishReason: typeof finishReason === "string" ? finishReason : answer.finishReason,
    usage: usageOf(member(chunk, "usage")) ?? answer.usage,
  };
}

function withCalls(calls: readonly ToolCall[], pieces: unknown): readonly ToolCall[] {
  if (!Array.isArray(pieces) || pieces.length === 0) return calls;
  const next = [...calls];
  for (const [place, piece] of pieces.entries()) {
    const given = numberOf(member(piece, "index")) ?? place;
    // Calls arrive in order, so an index that skips some is invalid.
    const index = given in next ? given : next.length;
    const before = next[index] ?? { id: "", name: "", arguments: "" };
    const called = member(piece, "function");
    const extra = member(piece, "extra_content") ?? before.extra;
    next[index] = {
      // Some servers repeat the id with each piece.
      id: before.id || textOf(member(piece, "id")),
      ...(extra === undefined ? {} : { extra }),
      name: before.name + textOf(member(called, "name")),
      arguments: before.arguments + textOf(member(called, "arguments")),
    };
  }
  return next;
}

/** An image in the answer itself. The page loads none from elsewhere. */
const IMAGE = /^data:(image\/(?:png|jpeg|webp|gif));base64,/;

/** Images arrive whole, in the form of OpenRouter: OpenAI's chat completions have none. */
function withImages(images: readonly Attachment[], pieces: unknown): readonly Attachment[] {
  if (!Array.isArray(pieces)) return images;
  const added = pieces.flatMap((piece: unknown, index): Attachment[] => {
    const url = member(member(piece, "image_url"), "url");
    const [head, mediaType] = (typeof url === "string" && IMAGE.exec(url)) || [];
    if (typeof url !== "string" || head === undefined || mediaType === undefined) return [];
    const name = `image-${images.length + index + 1}.${mediaType.slice("image/".length)}`;
    // Base64 takes 4 characters for 3 bytes.
    const bytes = Math.floor(((url.length - head.length) * 3) / 4);
    const extra = member(piece, "extra_content");
    const kept = extra === undefined ? {} : { extra };
    return [{ id: newId(), kind: "image", name, mediaType, bytes, url, ...kept }];
  });
  return added.length === 0 ? images : [...images, ...added];
}

function usageOf(usage: unknown): Usage | null {
  const promptTokens = numberOf(member(usage, "prompt_tokens"));
  const completionTokens = numberOf(member(usage, "completion_tokens"));
  return promptTokens === null || completionTokens === null ? null : { promptTokens, completionTokens };
}

/** The text of a content: a string, or for some servers a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => textOf(member(part, "text"))).join("");
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function member(value: unknown, name: string | number): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
