import {
  type AssistantPart,
  type CacheTtl,
  cannot,
  type ProducedImagePart,
  type Signature,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  UNSUPPORTED,
  type UserPart,
} from "../../conversation/conversation.ts";
import { mediaSourceOf } from "../../conversation/media.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf, textOf } from "../../json/members.ts";
import { resultWithoutCall } from "../../upstream/earlier-calls.ts";
import { cacheOf } from "../cache-control.ts";
import { customInputJson } from "../custom-tools.ts";
import { audioPart, imagePart, NO_STORED_FILES, partsOf, textPart } from "../openai-fields.ts";
import { otherMembersOfParts } from "../other-members.ts";
import { ResultTurns } from "../result-turns.ts";
import { returnedThoughts } from "./thought-list.ts";

const ALL_HAVE = ["role", "content", "name", "cache_control"];
const THOUGHTS = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking_blocks",
  "provider_specific_fields",
];
/** What messages may have. What is not known might change the answer. */
const MEMBERS: ReadonlyMap<Json | undefined, readonly string[]> = new Map([
  ["system", ALL_HAVE],
  ["developer", ALL_HAVE],
  ["user", ALL_HAVE],
  // Clients send back what models have said with more than is needed: their thoughts, in the forms of OpenRouter and LiteLLM too, members
  // that are null, and, from OpenAI's libraries, the object that `parse` has made of the content. OpenAI's agents for TypeScript repeat the
  // `extra_content` of a call beside the message.
  [
    "assistant",
    [...ALL_HAVE, "tool_calls", "refusal", "images", "annotations", "parsed", "extra_content", ...THOUGHTS],
  ],
  ["tool", [...ALL_HAVE, "tool_call_id"]],
]);

const PART_MEMBERS = new Set([
  "type",
  "text",
  "image_url",
  "input_audio",
  "file",
  "refusal",
  "cache_control",
]);

interface MessageReading {
  readonly signatures: SignatureSealer;
  /**
   * Gets the names of those who speak, and members of parts without equivalent elsewhere. AutoGen sends them with all messages, and LangGraph with those of
   * its agents.
   */
  readonly ignored: string[];
}

export function turnsOf(messages: readonly Json[], { signatures, ignored }: MessageReading): readonly Turn[] {
  const turns: Turn[] = [];
  const results = new ResultTurns();
  /** What was said together with a call, by the id of the call. */
  const called = new Map<string, readonly AssistantPart[]>();
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (!isJsonObject(message)) throw cannot(at, "must be a message");
    requireKnown(message, at);
    // The name of a result is that of the tool, which the call has.
    if ((message.name ?? null) !== null && message.role !== "tool") ignored.push(`${at}.name`);
    ignored.push(...otherMembersOfParts(message.content, PART_MEMBERS, `${at}.content`));
    if (message.role === "tool") {
      const result = resultOf(message, at);
      const said = called.get(result.callId);
      if (said === undefined) throw resultWithoutCall(result.at);
      results.add(said, result);
      continue;
    }
    const turn = turnOf(message, at, signatures);
    turns.push(turn);
    if (turn.role !== "assistant") continue;
    for (const part of turn.parts) if (part.kind === "call") called.set(part.id, turn.parts);
  }
  return results.among(turns);
}

/**
 * Clients of LiteLLM and OpenRouter can mark a whole message as the end of what is to be cached. The mark then applies to its last part that is not
 * a blank text, because Anthropic's models do not get blank texts.
 */
function cachedTo<Part extends { readonly cache: CacheTtl | null; readonly text?: unknown }>(
  message: JsonObject,
  parts: readonly Part[],
): readonly Part[] {
  const cache = cacheOf(message);
  const last = parts.findLast(({ text }) => typeof text !== "string" || text.trim() !== "");
  if (cache === null || last === undefined || last.cache !== null) return parts;
  return parts.map((part) => (part === last ? { ...part, cache } : part));
}

function requireKnown(message: JsonObject, at: string): void {
  const known = MEMBERS.get(message.role);
  if (known === undefined) return;
  for (const [name, value] of Object.entries(message)) {
    // Mistral's libraries send `prefix: false` with what the model has said.
    if (value === null || value === undefined || value === false) continue;
    if (!known.includes(name)) {
      throw cannot(`${at}.${name}`, "is not supported by this model's provider; remove it");
    }
  }
}

function turnOf(message: JsonObject, at: string, signatures: SignatureSealer): Turn {
  const { role, content } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", parts: cachedTo(message, textParts(content, `${at}.content`)) };
    case "user":
      return { role, parts: cachedTo(message, partsOf(content, `${at}.content`, userPart)) };
    case "assistant": {
      const { thoughts, ofCalls } = returnedThoughts(message, at, signatures);
      const calls = callsOf(message.tool_calls, `${at}.tool_calls`).map((call) =>
        call.signature === null ? { ...call, signature: ofCalls.get(call.id) ?? null } : call,
      );
      const said = [...saidParts(message, at), ...producedImages(message.images, `${at}.images`), ...calls];
      return { role, parts: [...thoughts, ...cachedTo(message, said)] };
    }
    default:
      throw cannot(`${at}.role`, "must be system, developer, user, assistant or tool");
  }
}

function resultOf(message: JsonObject, at: string): ToolResultPart {
  const { tool_call_id: id, content } = message;
  const idAt = `${at}.tool_call_id`;
  if (typeof id !== "string") throw resultWithoutCall(idAt);
  const parts = partsOf(content, `${at}.content`, resultPart);
  const cache = parts.findLast((part) => part.cache !== null)?.cache ?? cacheOf(message);
  return { kind: "result", callId: id, parts, isError: false, cache, at: idAt };
}

/** A model may have said something before it refused. Some clients repeat the refusal as the content. */
function saidParts({ content, refusal }: JsonObject, at: string): AssistantPart[] {
  const said =
    content === null || content === undefined ? [] : textParts(withoutThoughts(content), `${at}.content`);
  const parts = said.filter(({ text }) => text !== "");
  const isSaid = parts.length > 0 && (refusal === "" || parts.some(({ text }) => text === refusal));
  if (typeof refusal !== "string" || isSaid) return parts;
  return [...parts, { kind: "refusal", text: refusal, cache: null, at: `${at}.refusal` }];
}

/** A content without the thoughts that Mistral's models have among its texts. Other providers can't read them. */
function withoutThoughts(content: Json): Json {
  return Array.isArray(content)
    ? content.filter((part: Json) => objectOf(part).type !== "thinking")
    : content;
}

function textParts(content: Json | undefined, contentAt: string): TextPart[] {
  return partsOf(content, contentAt, (part, at) => {
    const object = objectOf(part);
    const { type, text, refusal } = object;
    const said = type === "text" ? text : type === "refusal" ? refusal : null;
    if (typeof said !== "string") throw cannot(at, "must be a text part for this model");
    return { ...textPart(said, at), cache: cacheOf(object) };
  });
}

/** Clients such as aider say in Anthropic's words what is to be cached. OpenAI's models cache without being asked. */
function userPart(part: Json, at: string): UserPart {
  if (!isJsonObject(part)) throw cannot(at, "must be a part of a message");
  return { ...uncachedPart(part, at), cache: cacheOf(part) };
}

function uncachedPart(part: JsonObject, at: string): UserPart {
  const { type, text, image_url: image, file } = part;
  if (type === "text" && typeof text === "string") return textPart(text, at);
  if (type === "image_url") {
    if (!isJsonObject(image)) throw cannot(`${at}.image_url`, "must be an object with a url");
    return imagePart(mediaSourceOf(image.url, `${at}.image_url.url`), image.detail, `${at}.image_url`);
  }
  if (type === "input_audio") return audioPart(part.input_audio, `${at}.input_audio`);
  if (type === "file" && isJsonObject(file)) {
    const { file_data: data, file_id: id } = file;
    if (typeof id === "string" && typeof data !== "string")
      throw cannot(`${at}.file.file_id`, NO_STORED_FILES);
    // OpenRouter's clients name files by their URLs there.
    const source = mediaSourceOf(data, `${at}.file.file_data`);
    const [filename, filenameAt] = [textOf(file.filename), `${at}.file.filename`];
    return { kind: "file", source, filename, filenameAt, cache: null, at: `${at}.file` };
  }
  throw cannot(at, UNSUPPORTED);
}

/** Chat completions have only texts in a result. Other formats have images and files, too, and clients send them to every model. */
function resultPart(value: Json, at: string): ToolResultPart["parts"][number] {
  const part = userPart(value, at);
  if (part.kind === "audio") throw cannot(part.at, "must not be a part of a tool's result");
  return part;
}

/** The images that a model has produced, as the service and other gateways write them. */
function producedImages(images: Json | undefined, at: string): ProducedImagePart[] {
  if (images === undefined || images === null) return [];
  if (!Array.isArray(images)) throw cannot(at, "must be an array of images");
  return images.map((image: Json, index) => {
    const { image_url, extra_content: extra } = objectOf(image);
    const imageAt = `${at}.${index}`;
    const source = mediaSourceOf(objectOf(image_url).url, `${imageAt}.image_url.url`);
    return { kind: "image", source, signature: signatureOf(extra), cache: null, at: imageAt };
  });
}

function callsOf(calls: Json | undefined, at: string): ToolCallPart[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw cannot(at, "must be an array of calls");
  return calls.map((call: Json, index) => {
    const object = objectOf(call);
    const { id, type, function: called, extra_content: extra } = object;
    if (type === "custom") return customCallOf(object, `${at}.${index}`);
    const { name, arguments: input } = objectOf(called);
    if (typeof id !== "string" || typeof name !== "string" || typeof input !== "string") {
      throw cannot(`${at}.${index}`, "must be a call of a function, with an id, a name and arguments");
    }
    const inputAt = `${at}.${index}.function.arguments`;
    const cache = cacheOf(object);
    return { kind: "call", id, name, input, signature: signatureOf(extra), cache, at: inputAt };
  });
}

function customCallOf(call: JsonObject, at: string): ToolCallPart {
  const { id, custom, extra_content: extra } = call;
  const { name, input } = objectOf(custom);
  if (typeof id !== "string" || typeof name !== "string" || typeof input !== "string") {
    throw cannot(at, "must be a call of a custom tool, with an id, a name and an input");
  }
  const text = customInputJson(input);
  const [signature, cache] = [signatureOf(extra), cacheOf(call)];
  return { kind: "call", id, name, input: text, signature, cache, at: `${at}.custom.input` };
}

/** What Google wants back with its call, and nothing else that a client may have put there. Its name was `thoughtSignature` first. */
function signatureOf(extra: Json | undefined): Signature | null {
  const { thought_signature: present, thoughtSignature: former } = objectOf(objectOf(extra).google);
  const thoughtSignature = textOf(present) ?? textOf(former);
  return thoughtSignature === null ? null : { provider: "google", fields: { thoughtSignature } };
}
