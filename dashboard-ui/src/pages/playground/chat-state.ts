import type { Answer, ToolCall } from "./answer.ts";
import { type Attachment, partOf } from "./attachment.ts";
import type { ChatFailure } from "./failure.ts";
import { outputFields } from "./output.ts";
import { type ParameterTexts, parametersOf } from "./parameters.ts";
import {
  formatFields,
  type OutputFormat,
  TEXT_FORMAT,
  type ToolChoice,
  type ToolDefinition,
  toolFields,
} from "./tools.ts";

const ROLES = ["user", "assistant"] as const;
export type Role = (typeof ROLES)[number];

/** The maximum number of models side by side. */
export const MAX_LANES = 4;
const MAX_TITLE_LENGTH = 60;

/** A tool call of a complete answer, with the result that the user enters. */
export interface CalledTool extends ToolCall {
  /** `null` until the user has entered one. */
  readonly result: string | null;
}

export interface ChatMessage {
  /** Unique within the conversation. */
  readonly id: number;
  readonly role: Role;
  readonly text: string;
  /** The user's files, or the images and the speech that the model has produced. */
  readonly attachments: readonly Attachment[];
  /** The tool calls of an assistant's message. */
  readonly calls: readonly CalledTool[];
  /** The model's answer, for a message that a model wrote and the user has not edited since. */
  readonly generated: GeneratedAnswer | null;
}

/** A model's answer with its circumstances. */
export interface GeneratedAnswer {
  readonly model: string;
  readonly answer: Answer;
  readonly outcome: "underway" | "whole" | "stopped" | "broken";
  /** The requested output. */
  readonly format: OutputFormat;
  /** `null` until the service has begun to answer. */
  readonly requestId: string | null;
  /** Milliseconds from the request to the first content; `null` without streaming. */
  readonly firstMs: number | null;
  /** Milliseconds from the request to the end. */
  readonly totalMs: number | null;
}

/** A conversation with one model. Several of them are side by side to compare models. */
export interface Lane {
  /** Unique within the chat. */
  readonly id: number;
  /** The chosen model; `null` before the first choice. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  readonly isRunning: boolean;
  readonly failure: ChatFailure | null;
}

export interface Draft {
  readonly role: Role;
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** The last removal from a conversation, which can be undone. */
export interface Removal {
  readonly laneId: number;
  /** The messages before the removal. */
  readonly messages: readonly ChatMessage[];
}

/** What is kept of a chat: in the browser's history, and in a link. */
export interface SavedChat {
  /** One to {@link MAX_LANES}. */
  readonly lanes: readonly Lane[];
  readonly system: string;
  readonly draft: Draft;
  readonly parameters: ParameterTexts;
  readonly stream: boolean;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  readonly format: OutputFormat;
}

export interface ChatState extends SavedChat {
  /** The chat's id in the history. */
  readonly id: string;
  /** The lane that the next message goes to; `null` for all. */
  readonly target: number | null;
  readonly removal: Removal | null;
  /** The announcement for screen readers when an answer has ended. */
  readonly announcement: string;
}

export const EMPTY_DRAFT: Draft = { role: "user", text: "", attachments: [] };

const FIRST_LANE: Lane = { id: 1, model: null, messages: [], isRunning: false, failure: null };

export const NEW_CHAT: SavedChat = {
  lanes: [FIRST_LANE],
  system: "",
  draft: EMPTY_DRAFT,
  parameters: {},
  stream: true,
  tools: [],
  toolChoice: "auto",
  format: TEXT_FORMAT,
};

/** The body of a chat request. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly BodyMessage[];
  readonly stream?: boolean;
  readonly [parameter: string]: unknown;
}

interface BodyMessage {
  readonly role: string;
  /** A text, or parts. */
  readonly content?: unknown;
  readonly [member: string]: unknown;
}

/**
 * The request that asks a model for the next message of a conversation.
 *
 * @param output what the model produces.
 */
export function bodyOf(
  chat: SavedChat,
  messages: readonly ChatMessage[],
  model: string,
  output: readonly string[],
): ChatBody {
  const { system, parameters, stream, tools, toolChoice, format } = chat;
  return {
    model,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
      ...messages.flatMap(bodyMessagesOf),
    ],
    ...parametersOf(parameters),
    ...toolFields(tools, toolChoice),
    ...formatFields(format),
    // JSON is text alone.
    ...(format.kind === "text" ? outputFields(output, stream) : {}),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** A message of the request, and the results of its tool calls. Empty messages are left out, because most models refuse them. */
function bodyMessagesOf({ role, text, attachments, calls }: ChatMessage): readonly BodyMessage[] {
  const images = role === "assistant" ? imageFields(attachments) : {};
  if (calls.length > 0) {
    return [
      { role, content: text === "" ? null : text, ...images, tool_calls: calls.map(callField) },
      ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result ?? "" })),
    ];
  }
  const parts = attachments.map(partOf).filter((part) => part !== null);
  if (parts.length > 0 && role === "user") {
    const said = text.trim() === "" ? [] : [{ type: "text", text }];
    return [{ role, content: [...said, ...parts] }];
  }
  return text.trim() === "" && images.images === undefined ? [] : [{ role, content: text, ...images }];
}

/** The images that a model has produced, so that it can edit them. */
function imageFields(attachments: readonly Attachment[]): { readonly images?: readonly object[] } {
  const images = attachments.flatMap(({ kind, url, extra }) =>
    kind !== "image" || url === null
      ? []
      : [
          {
            type: "image_url",
            image_url: { url },
            ...(extra === undefined ? {} : { extra_content: extra }),
          },
        ],
  );
  return images.length === 0 ? {} : { images };
}

function callField({ id, name, arguments: input, extra }: CalledTool) {
  return {
    id,
    type: "function",
    function: { name, arguments: input },
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
}

/** The draft as a message, or `null` if it is empty. */
export function draftMessage({ role, text, attachments }: Draft, id: number): ChatMessage | null {
  if (text.trim() === "" && attachments.length === 0) return null;
  return { id, role, text, attachments, calls: [], generated: null };
}

/** The messages of a lane as the next request has them, with the draft if it goes to this lane. */
export function messagesWithDraft(state: ChatState, lane: Lane): readonly ChatMessage[] {
  const isTarget = state.target === null || state.target === lane.id;
  const added = isTarget ? draftMessage(state.draft, nextId(lane.messages)) : null;
  return added === null ? lane.messages : [...lane.messages, added];
}

/** The lanes that the next message goes to. */
export function targetsOf({ lanes, target }: ChatState): readonly Lane[] {
  return lanes.filter(({ id }) => target === null || target === id);
}

/** The first tool call without a result. A request after it would be refused. */
export function unansweredCall(messages: readonly ChatMessage[]): CalledTool | undefined {
  return messages.flatMap(({ calls }) => calls).find(({ result }) => result === null);
}

/** Whether a message has nothing to send. */
export function isEmptyMessage({ text, attachments, calls }: ChatMessage): boolean {
  return text.trim() === "" && attachments.length === 0 && calls.length === 0;
}

/** The messages without the last one, if a model wrote it. */
export function withoutLastAnswer(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.at(-1)?.generated == null ? messages : messages.slice(0, -1);
}

/** A further lane for the same question: it has the messages of the first one, without the answer to the last question. */
export function addedLane(lanes: readonly Lane[], model: string): Lane {
  const messages = lanes[0]?.messages ?? [];
  const lastQuestion = messages.findLastIndex(({ role }) => role === "user");
  return { ...FIRST_LANE, id: nextId(lanes), model, messages: messages.slice(0, lastQuestion + 1) };
}

export function withLane(lanes: readonly Lane[], id: number, change: Partial<Lane>): readonly Lane[] {
  return lanes.map((lane) => (lane.id === id ? { ...lane, ...change } : lane));
}

export function withMessage(
  messages: readonly ChatMessage[],
  id: number,
  change: (message: ChatMessage) => ChatMessage,
): readonly ChatMessage[] {
  return messages.map((message) => (message.id === id ? change(message) : message));
}

export function nextId(items: readonly { readonly id: number }[]): number {
  return Math.max(0, ...items.map(({ id }) => id)) + 1;
}

/** Whether the chat has content to keep in the history. */
export function hasContent({ lanes }: SavedChat): boolean {
  return lanes.some(({ messages }) => messages.length > 0);
}

/** The chat's name in the history, until the user gives it another: how it begins. */
export function titleOf({ lanes }: SavedChat): string {
  const messages = lanes.flatMap((lane) => lane.messages);
  const text =
    messages
      .find((message) => message.text.trim() !== "")
      ?.text.trim()
      .replace(/\s+/g, " ") ?? "";
  if (text === "") return messages[0]?.attachments[0]?.name ?? "New chat";
  // Two halves of a character stand for an emoji, and one alone for nothing.
  const letters = [...text];
  return letters.length > MAX_TITLE_LENGTH
    ? `${letters.slice(0, MAX_TITLE_LENGTH).join("").trimEnd()}…`
    : text;
}

/** The part of a state that is kept. */
export function savedOf(state: SavedChat): SavedChat {
  const { lanes, system, draft, parameters, stream, tools, toolChoice, format } = state;
  return { lanes, system, draft, parameters, stream, tools, toolChoice, format };
}

/** A kept chat as it continues: answers that were incomplete have ended. */
export function reopened(saved: SavedChat): SavedChat {
  const lanes = saved.lanes.map((lane) => ({
    ...lane,
    isRunning: false,
    messages: lane.messages.map(asLeft),
  }));
  return { ...saved, lanes };
}

function asLeft(message: ChatMessage): ChatMessage {
  const { generated } = message;
  return generated?.outcome === "underway"
    ? { ...message, generated: { ...generated, outcome: "stopped" } }
    : message;
}

/** Every attachment of a chat, each once. */
export function attachmentsOf({ lanes, draft }: SavedChat): readonly Attachment[] {
  const all = [...lanes.flatMap((lane) => lane.messages), draft].flatMap(({ attachments }) => attachments);
  return [...new Map(all.map((attachment) => [attachment.id, attachment])).values()];
}

/** The attachments that requests have: a model's speech goes back as its transcript. */
export function sentAttachmentsOf(chat: SavedChat): readonly Attachment[] {
  return attachmentsOf(chat).filter(({ kind }) => kind !== "audio");
}

/** The chat with the content of its attachments changed; `null` removes it. */
export function withContents(saved: SavedChat, urlOf: (attachment: Attachment) => string | null): SavedChat {
  const changed = <Item extends { readonly attachments: readonly Attachment[] }>(item: Item): Item =>
    item.attachments.length === 0
      ? item
      : { ...item, attachments: item.attachments.map((one) => ({ ...one, url: urlOf(one) })) };
  return {
    ...saved,
    draft: changed(saved.draft),
    lanes: saved.lanes.map((lane) => ({ ...lane, messages: lane.messages.map(changed) })),
  };
}
