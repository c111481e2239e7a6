import { type Attachment, newId } from "./attachment.ts";
import {
  attachmentsOf,
  type ChatMessage,
  type Draft,
  EMPTY_DRAFT,
  type Lane,
  MAX_LANES,
  NEW_CHAT,
  type Role,
  type SavedChat,
  withContents,
} from "./chat-state.ts";
import { PARAMETERS, type ParameterTexts } from "./parameters.ts";
import { type OutputFormat, TEXT_FORMAT, type ToolChoice, type ToolDefinition } from "./tools.ts";

const NAME = "chat=";
const VERSION = 1;
/** Longer addresses are cut or refused by some browsers and messengers. */
const MAX_LINK_LENGTH = 60_000;
/** The maximum of what a link unpacks to, so that a small link cannot fill the memory. */
const MAX_UNPACKED_BYTES = 4 * 1_024 * 1_024;
const MAX_MESSAGES = 1_000;

/** The fragment of a link that opens the chat. It never contains a key, and servers do not see it. */
export interface SharedFragment {
  readonly fragment: string;
  /** Whether attachments were too large for a link and are missing. */
  readonly lacksAttachments: boolean;
}

/** @returns `null` if the chat is too long for a link. */
export async function sharedFragment(chat: SavedChat): Promise<SharedFragment | null> {
  const whole = NAME + (await packed(shared(chat)));
  if (whole.length <= MAX_LINK_LENGTH) return { fragment: whole, lacksAttachments: false };
  if (attachmentsOf(chat).length === 0) return null;
  const fragment = NAME + (await packed(shared(withContents(chat, () => null))));
  return fragment.length <= MAX_LINK_LENGTH ? { fragment, lacksAttachments: true } : null;
}

/**
 * Reads a shared chat. Its content is a stranger's: members of a wrong type are left out.
 *
 * @returns `null` if the link is damaged or of another version.
 */
export async function readShared(fragment: string): Promise<SavedChat | null> {
  try {
    const value: unknown = JSON.parse(await unpacked(fragment.slice(NAME.length)));
    return isObject(value) && value.version === VERSION ? chatFrom(value) : null;
  } catch {
    return null;
  }
}

/** A request, without what happened when it was sent: times, request IDs, errors. */
function shared({ lanes, ...settings }: SavedChat): object {
  const messages = ({ role, text, attachments, calls }: ChatMessage) => ({ role, text, attachments, calls });
  return {
    version: VERSION,
    ...settings,
    lanes: lanes.map((lane) => ({ model: lane.model, messages: lane.messages.map(messages) })),
  };
}

function chatFrom(value: Readonly<Record<string, unknown>>): SavedChat | null {
  const lanes = listOf(value.lanes)
    .slice(0, MAX_LANES)
    .map((lane, index) => laneFrom(lane, index + 1));
  if (lanes.length === 0) return null;
  return {
    ...NEW_CHAT,
    lanes,
    system: textOf(value.system),
    draft: draftFrom(value.draft),
    parameters: parametersFrom(value.parameters),
    stream: value.stream !== false,
    tools: listOf(value.tools).slice(0, 128).map(toolFrom),
    toolChoice: toolChoiceFrom(value.toolChoice),
    format: formatFrom(value.format),
  };
}

function laneFrom(value: unknown, id: number): Lane {
  const { model, messages } = isObject(value) ? value : {};
  return {
    id,
    model: typeof model === "string" ? model : null,
    messages: listOf(messages)
      .slice(0, MAX_MESSAGES)
      .map((message, index) => messageFrom(message, index + 1)),
    isRunning: false,
    failure: null,
  };
}

function messageFrom(value: unknown, id: number): ChatMessage {
  const { role, text, attachments, calls } = isObject(value) ? value : {};
  return {
    id,
    role: roleFrom(role),
    text: textOf(text),
    attachments: listOf(attachments).flatMap(attachmentFrom),
    calls: role === "assistant" ? listOf(calls).map(callFrom) : [],
    generated: null,
  };
}

function draftFrom(value: unknown): Draft {
  const { role, text, attachments } = isObject(value) ? value : {};
  return {
    ...EMPTY_DRAFT,
    role: roleFrom(role),
    text: textOf(text),
    attachments: listOf(attachments).flatMap(attachmentFrom),
  };
}

function callFrom(value: unknown): ChatMessage["calls"][number] {
  const { id, name, arguments: input, result, extra } = isObject(value) ? value : {};
  return {
    id: textOf(id),
    name: textOf(name),
    arguments: textOf(input),
    result: typeof result === "string" ? result : null,
    ...(extra === undefined ? {} : { extra }),
  };
}

const CONTENT = /^data:(image\/(?:png|jpeg|webp|gif)|application\/pdf);base64,[A-Za-z0-9+/]*={0,2}$/;

/** An attachment whose content is one of the types that can be attached. Any other address would be loaded by the page. */
function attachmentFrom(value: unknown): readonly Attachment[] {
  const { kind, name, mediaType, bytes, url } = isObject(value) ? value : {};
  if (kind !== "image" && kind !== "file") return [];
  const content = typeof url === "string" && CONTENT.test(url) ? url : null;
  const size = typeof bytes === "number" && Number.isFinite(bytes) ? bytes : 0;
  return [{ id: newId(), kind, name: textOf(name), mediaType: textOf(mediaType), bytes: size, url: content }];
}

function toolFrom(value: unknown): ToolDefinition {
  const { name, description, parameters } = isObject(value) ? value : {};
  return { name: textOf(name), description: textOf(description), parameters: textOf(parameters) };
}

function toolChoiceFrom(value: unknown): ToolChoice {
  if (value === "none" || value === "required") return value;
  return typeof value === "string" && value.startsWith("function:")
    ? `function:${value.slice("function:".length)}`
    : "auto";
}

function formatFrom(value: unknown): OutputFormat {
  const { kind, schema } = isObject(value) ? value : {};
  const isKnown = kind === "json_object" || kind === "json_schema";
  return { ...TEXT_FORMAT, kind: isKnown ? kind : "text", schema: textOf(schema) };
}

function parametersFrom(value: unknown): ParameterTexts {
  const texts = isObject(value) ? value : {};
  return Object.fromEntries(PARAMETERS.map(({ name }) => [name, textOf(texts[name])]));
}

function roleFrom(value: unknown): Role {
  return value === "assistant" ? "assistant" : "user";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Compressed JSON in the alphabet of addresses. */
async function packed(value: object): Promise<string> {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @throws if the text is damaged, or unpacks to more than the maximum. */
async function unpacked(text: string): Promise<string> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > MAX_UNPACKED_BYTES) {
      await reader.cancel();
      throw new Error("the shared chat is too large");
    }
    chunks.push(next.value);
  }
  return new Blob(chunks).text();
}
