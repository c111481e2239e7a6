import { withoutAttribution } from "../../conversation/attribution.ts";
import { exactJson, mayHaveLongNumber, parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf, textOf } from "../../json/members.ts";
import { SEALED_TEXT_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";
import { hashOf, plainIdentifier } from "../identifiers.ts";
import {
  hasLateInstructions,
  isInstructions,
  withAddedTools,
  withUsersInstructions,
} from "./late-instructions.ts";
import type { MessagesForm } from "./message-forms.ts";
import { isAnthropicModel } from "./models.ts";
import { hasToolReferences, withReferencesAsTexts } from "./tool-references.ts";

/**
 * The body for the upstream: the client's, byte for byte, with the upstream's name of the model. Thoughts of other providers' models,
 * which a client has from this service, are left out: Anthropic refuses a thought without its own signature. Other providers' servers may not
 * sign theirs, and refuse the calls that follow without them. Ids that other servers have given to calls are replaced where Anthropic refuses them.
 * Only Anthropic gets what Claude Code says for its bills.
 */
export function forwardedBody(
  { request: { body }, upstream, upstreamModel }: ForwardCall,
  { keepsUser, keepsThoughts, keepsInstructions, keepsReferences }: MessagesForm,
): string {
  const { messages } = body.value;
  const isOwnModel = isAnthropicModel(upstreamModel, upstream);
  const losesThoughts = !keepsThoughts && hasBlockIn(messages, isThought);
  const movesInstructions = !keepsInstructions && hasLateInstructions(body.value);
  const isForeign = !keepsThoughts ? isThought : isOwnModel ? isUnsignedOrSealed : isSealedThought;
  const isChanged = (block: Json) => isForeign(block) || (isOwnModel && withOwnId(block) !== block);
  const changes = {
    model: upstreamModel,
    ...(isOwnModel ? {} : { system: instructionsFor(body.value.system) }),
    ...(keepsUser ? {} : { metadata: withPlainUser(body.value.metadata) }),
    ...(losesThoughts && needsThoughts(body.value) ? { thinking: undefined } : {}),
  };
  const isKept =
    !movesInstructions &&
    (keepsReferences || !hasToolReferences(body.value)) &&
    !hasBlockIn(messages, isChanged);
  if (isKept || !Array.isArray(messages)) return body.textWith(changes);
  // The inputs of calls keep their numbers.
  const exact = mayHaveLongNumber(body.text) ? parseExact(body.text)?.messages : messages;
  const kept = (Array.isArray(exact) ? exact : messages)
    .map((message: Json) => (keepsReferences ? message : withReferencesAsTexts(message)))
    .flatMap((message: Json) => withoutThoughts(isOwnModel ? withOwnIds(message) : message, isForeign));
  if (!movesInstructions) return exactJson(body.textWith({ ...changes, messages: kept }));
  const tools = withAddedTools(body.exact("tools"), kept);
  return exactJson(body.textWith({ ...changes, tools, messages: withUsersInstructions(kept) }));
}

/** The instructions for models of other providers than Anthropic. The same value if nothing is left out. */
function instructionsFor(system: Json | undefined): Json | undefined {
  if (typeof system === "string") return withoutAttribution(system) || undefined;
  if (!Array.isArray(system)) return system;
  const written = system.map((block: Json) => {
    const text = textOf(objectOf(block).text) ?? "";
    const own = withoutAttribution(text);
    return own === text || !isJsonObject(block) ? block : { ...block, text: own };
  });
  const isSame = written.every((block, index) => block === system[index]);
  // Servers refuse an empty text.
  return isSame ? system : written.filter((block) => !isJsonObject(block) || block.text !== "");
}

/** Whether a model with a budget would refuse to think without its earlier thoughts: the results of tools follow calls that it has made after them. */
function needsThoughts({ thinking, messages }: JsonObject): boolean {
  const said = Array.isArray(messages) ? messages.filter((message: Json) => !isInstructions(message)) : [];
  const last = said.at(-1);
  if (!isJsonObject(thinking) || thinking.type !== "enabled" || !isJsonObject(last)) return false;
  const { content } = last;
  return (
    Array.isArray(content) && content.some((block) => isJsonObject(block) && block.type === "tool_result")
  );
}

/** The metadata of a request with an id of the user that every server takes. The same metadata if it has one, or none. */
function withPlainUser(metadata: Json | undefined): Json | undefined {
  if (!isJsonObject(metadata) || typeof metadata.user_id !== "string") return metadata;
  const plain = plainIdentifier(metadata.user_id);
  return plain === metadata.user_id ? metadata : { ...metadata, user_id: plain };
}

function hasBlockIn(messages: Json | undefined, isOne: (block: Json) => boolean): boolean {
  return Array.isArray(messages) && messages.some((message) => hasBlock(message, isOne));
}

function hasBlock(message: Json, isOne: (block: Json) => boolean): boolean {
  return isJsonObject(message) && Array.isArray(message.content) && message.content.some(isOne);
}

function withoutThoughts(message: Json, isOne: (block: Json) => boolean): JsonObject[] {
  if (!isJsonObject(message)) return [];
  if (!hasBlock(message, isOne) || !Array.isArray(message.content)) return [message];
  const content = message.content.filter((block: Json) => !isOne(block));
  // Anthropic refuses a message without content, too.
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** What Anthropic accepts as the id of a call. */
const CALL_ID = /^[a-zA-Z0-9_-]+$/;
/** The members that have the id of a call, by the type of their block. */
const ID_MEMBERS: ReadonlyMap<Json | undefined, string> = new Map([
  ["tool_use", "id"],
  ["tool_result", "tool_use_id"],
]);

function withOwnIds(message: Json): Json {
  if (!isJsonObject(message) || !Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map(withOwnId) };
}

/** A call or a result with an id that Anthropic takes. Other providers' servers of this API have given others to their calls. */
function withOwnId(block: Json): Json {
  if (!isJsonObject(block)) return block;
  const member = ID_MEMBERS.get(block.type);
  const id = member === undefined ? undefined : block[member];
  if (member === undefined || typeof id !== "string" || CALL_ID.test(id)) return block;
  return { ...block, [member]: `toolu_${hashOf(id)}` };
}

function isThought(block: Json): boolean {
  return isJsonObject(block) && (block.type === "thinking" || block.type === "redacted_thinking");
}

function isUnsignedOrSealed(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  const { type, signature } = block;
  const isUnsigned = type === "thinking" && (typeof signature !== "string" || signature === "");
  return isUnsigned || isSealedThought(block);
}

/** Whether this service has sealed the signature of a thought. */
function isSealedThought(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  const { type, signature, data } = block;
  return (type === "thinking" && isSealed(signature)) || (type === "redacted_thinking" && isSealed(data));
}

function isSealed(value: Json | undefined): boolean {
  return typeof value === "string" && value.startsWith(SEALED_TEXT_PREFIX);
}
