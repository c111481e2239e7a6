import {
  type AssistantPart,
  cannot,
  type FilePart,
  type ImagePart,
  type MediaSource,
  type Signature,
  type TextPart,
  type Tool,
  type ToolResultPart,
} from "../../conversation/conversation.ts";
import { mediaSourceOf } from "../../conversation/media.ts";
import {
  type CarriedSignature,
  type SignatureSealer,
  UNSEEN_TEXT,
} from "../../conversation/sealed-signature.ts";
import { exactJson } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf, textOf } from "../../json/members.ts";
import { cacheOf } from "../cache-control.ts";
import type { ExactValues } from "../exact-values.ts";
import { otherMembersOf } from "../other-members.ts";
import type { ToolNames } from "./tool-names.ts";

type MediaPart = TextPart | ImagePart | FilePart;

/** What is read of the blocks of a request. */
export interface BlockReading {
  readonly signatures: SignatureSealer;
  readonly names: ToolNames;
  /** The places of what is left out. */
  readonly ignored: string[];
  /** The ids of the calls that were read. */
  readonly called: Set<string>;
  /** The tools that were added within the conversation. */
  readonly added: Tool[];
  readonly exact: ExactValues;
}

/** A block of text. */
export function textPart(block: JsonObject, at: string): TextPart {
  if (block.type !== "text") throw cannot(at, "must be a text block");
  if (typeof block.text !== "string") throw cannot(`${at}.text`, "must be a text");
  return { kind: "text", text: block.text, cache: cacheOf(block), at };
}

/** The blocks of a message or a result that has only texts, images and documents. */
function mediaPartsOf(content: Json | undefined, at: string, reading: BlockReading): MediaPart[] {
  return blocksOf(content, at, reading).flatMap(({ block, at: blockAt }) =>
    mediaParts(block, blockAt, reading),
  );
}

/** What blocks have that is read, or that a model has written beside its text or its call, by their types. Others are left out or refused. */
const BLOCK_MEMBERS: ReadonlyMap<Json | undefined, ReadonlySet<string>> = new Map(
  Object.entries({
    text: ["text", "citations"],
    image: ["source"],
    document: ["source", "title", "context", "citations"],
    search_result: ["source", "title", "content", "citations"],
    tool_reference: ["tool_name"],
    browser_state: ["tabs", "state_changes"],
    tool_addition: ["tool"],
    tool_removal: ["tool"],
    tool_use: ["id", "name", "input", "caller"],
    tool_result: ["tool_use_id", "content", "is_error"],
    thinking: ["thinking", "signature"],
    redacted_thinking: ["data"],
    compaction: ["content"],
  }).map(([type, members]) => [type, new Set(["type", "cache_control", ...members])]),
);

/** The blocks of a message; a text is one block. `ignored` gets the places of members of blocks without equivalent elsewhere. */
export function blocksOf(
  content: Json | undefined,
  at: string,
  { ignored }: BlockReading,
): readonly { readonly block: JsonObject; readonly at: string }[] {
  if (typeof content === "string") return [{ block: { type: "text", text: content }, at }];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of blocks");
  return content.map((block: Json, index) => {
    const blockAt = `${at}.${index}`;
    if (!isJsonObject(block)) throw cannot(blockAt, "must be a block with a type");
    const members = BLOCK_MEMBERS.get(block.type);
    if (members !== undefined) ignored.push(...otherMembersOf(block, members, blockAt));
    return { block, at: blockAt };
  });
}

/** A block of text, an image, a document, or what else a tool may have found. */
export function mediaParts(block: JsonObject, at: string, reading: BlockReading): MediaPart[] {
  const cache = cacheOf(block);
  switch (block.type) {
    case "text":
      return [textPart(block, at)];
    case "image":
      return [{ kind: "image", source: sourceOf(block.source, `${at}.source`), detail: null, cache, at }];
    case "document":
      noteCitations(block, at, reading);
      return documentParts(block, at, reading);
    case "search_result":
      noteCitations(block, at, reading);
      return [{ kind: "text", text: searchResultText(block, at, reading), cache, at }];
    case "tool_reference": {
      // A search for tools has found one of those that the request has.
      if (typeof block.tool_name !== "string") throw cannot(`${at}.tool_name`, "must be the name of a tool");
      return [{ kind: "text", text: `Found tool: ${reading.names.shortened(block.tool_name)}`, cache, at }];
    }
    case "browser_state":
      return [
        { kind: "text", text: `Browser state: ${browserStateJson(reading.exact(block, at))}`, cache, at },
      ];
    default:
      throw cannot(at, "is of a type that this model's provider does not support; remove it");
  }
}

/** Only Anthropic's models cite what they have read. */
function noteCitations({ citations }: JsonObject, at: string, { ignored }: BlockReading): void {
  if (objectOf(citations).enabled === true) ignored.push(`${at}.citations`);
}

/** A model of Anthropic's reads a document's title and context as well. The title of a file is its name. */
function documentParts(block: JsonObject, at: string, reading: BlockReading): MediaPart[] {
  const { source, title, context } = block;
  const cache = cacheOf(block);
  const { type, data, content } = objectOf(source);
  if (type === "text" && typeof data === "string") {
    return [{ kind: "text", text: linesOf(title, context, data), cache, at }];
  }
  if (type === "content") {
    const parts = mediaPartsOf(content, `${at}.source.content`, reading);
    const own = parts.map((part, index) => (index === parts.length - 1 ? { ...part, cache } : part));
    return [...aboutParts(linesOf(title, context), at), ...own];
  }
  const file = sourceOf(source, `${at}.source`);
  return [
    ...aboutParts(linesOf(context), at),
    { kind: "file", source: file, filename: textOf(title), filenameAt: `${at}.title`, cache, at },
  ];
}

function aboutParts(text: string, at: string): TextPart[] {
  return text === "" ? [] : [{ kind: "text", text, cache: null, at }];
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;

/** Where an image or a document comes from. @throws {Failure} for files that were uploaded, which only their provider has. */
function sourceOf(source: Json | undefined, at: string): MediaSource {
  if (!isJsonObject(source)) throw cannot(at, "must be a source with base64 data or a URL");
  const { type, media_type: mediaType, data, url } = source;
  if (type === "url") return mediaSourceOf(url, `${at}.url`);
  if (type !== "base64") throw cannot(`${at}.type`, "must be base64 or url for this model");
  if (typeof mediaType !== "string" || !MEDIA_TYPE.test(mediaType)) {
    throw cannot(`${at}.media_type`, "must be a media type");
  }
  if (typeof data !== "string") throw cannot(`${at}.data`, "must be base64");
  return { kind: "data", mediaType, data };
}

function searchResultText({ title, source, content }: JsonObject, at: string, reading: BlockReading): string {
  const blocks = blocksOf(content, `${at}.content`, reading);
  const text = blocks.map(({ block, at: blockAt }) => textPart(block, blockAt).text);
  const from = typeof source === "string" ? `Source: ${source}\n` : "";
  return linesOf(title, from + text.join("\n"));
}

/** What Anthropic's browser tools tell of the tabs after a call, and of what has changed. */
function browserStateJson({ tabs, state_changes: changes }: JsonObject): string {
  return exactJson(JSON.stringify({ tabs, state_changes: changes ?? undefined }));
}

/** The texts that are not empty, each on lines of its own. */
function linesOf(...texts: readonly (Json | undefined)[]): string {
  return texts.filter((text) => typeof text === "string" && text !== "").join("\n");
}

/** The result of a tool call. */
export function resultPart(block: JsonObject, at: string, reading: BlockReading): ToolResultPart {
  const { tool_use_id: callId, content, is_error: isError } = block;
  const idAt = `${at}.tool_use_id`;
  if (typeof callId !== "string" || !reading.called.has(callId)) {
    throw cannot(idAt, "must be the id of a tool_use block of an earlier message");
  }
  const parts =
    content === undefined || content === null ? [] : mediaPartsOf(content, `${at}.content`, reading);
  const cache = cacheOf(block) ?? parts.findLast((part) => part.cache !== null)?.cache ?? null;
  return { kind: "result", callId, parts, isError: isError === true, cache, at: idAt };
}

/** What a model has said. Blocks of tools that only Anthropic runs are left out. */
export function saidParts(content: Json | undefined, at: string, reading: BlockReading): AssistantPart[] {
  const blocks = blocksOf(content, at, reading);
  // Those of tool calls, by the ids of the calls. They stand in thinking blocks before or after them.
  const signatures = new Map<string, Signature>();
  for (const { block } of blocks) {
    const carried = block.type === "redacted_thinking" ? carriedBy(block.data, reading) : null;
    if (carried !== null && carried.callId !== null) signatures.set(carried.callId, carried.signature);
  }
  return blocks.flatMap(({ block, at: blockAt }) => saidPart(block, blockAt, reading, signatures));
}

/** The signature that a client has sent back. Others are of another provider, which alone can read them. */
function carriedBy(sealed: Json | undefined, { signatures }: BlockReading): CarriedSignature | null {
  return typeof sealed === "string" ? signatures.open(sealed) : null;
}

function saidPart(
  block: JsonObject,
  at: string,
  reading: BlockReading,
  signatures: ReadonlyMap<string, Signature>,
): AssistantPart[] {
  const cache = cacheOf(block);
  switch (block.type) {
    case "text":
    // The summary of an earlier part of the conversation.
    case "compaction": {
      const text = block.type === "text" ? block.text : (block.content ?? "");
      const part = textPart({ ...block, type: "text", text }, at);
      return part.text === "" ? [] : [part];
    }
    case "thinking":
    case "redacted_thinking": {
      const { thinking, signature, data } = block;
      const carried = carriedBy(block.type === "thinking" ? signature : data, reading);
      if (carried === null || carried.callId !== null) return [];
      const text = textOf(thinking) || (carried.signature.fields[UNSEEN_TEXT] ?? "");
      return [{ kind: "reasoning", text, signature: carried.signature, cache, at }];
    }
    case "tool_use": {
      const { id, name, input } = block;
      if (typeof id !== "string") throw cannot(`${at}.id`, "must be the id of the call");
      if (typeof name !== "string") throw cannot(`${at}.name`, "must be the name of a tool");
      if (!isJsonObject(input)) throw cannot(`${at}.input`, "must be an object");
      reading.called.add(id);
      const signed = signatures.get(id) ?? null;
      const inputAt = `${at}.input`;
      const text = exactJson(JSON.stringify(reading.exact(input, inputAt)));
      const called = reading.names.shortened(name);
      return [{ kind: "call", id, name: called, input: text, signature: signed, cache, at: inputAt }];
    }
    default:
      reading.ignored.push(at);
      return [];
  }
}
