import {
  type AssistantPart,
  cannot,
  type Effort,
  type OutputFormat,
  type Signature,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  UNSUPPORTED,
} from "../../conversation/conversation.ts";
import { dataSourceOf } from "../../conversation/media.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import { exactJson } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf, textMembersOf, textOf } from "../../json/members.ts";
import { customInputJson } from "../custom-tools.ts";
import type { ExactValues } from "../exact-values.ts";
import { effortOf, formatOf, partsOf, textPart } from "../openai-fields.ts";
import { otherMembersOf } from "../other-members.ts";
import { ResultTurns } from "../result-turns.ts";
import { addTools, type ClientTool, type ClientTools, SEARCH } from "./client-tools.ts";
import {
  agentsParts,
  otherMembersOfContent,
  outputParts,
  saidParts,
  textOnly,
  userPart,
} from "./read-parts.ts";

interface ItemContext {
  /** Tools that items bring along are added. */
  readonly tools: ClientTools;
  readonly signatures: SignatureSealer;
  /** The position of the first item that the request itself has. Those before are of earlier responses. */
  readonly firstOwn: number;
  readonly exact: ExactValues;
}

/**
 * Reads the items of an input. Consecutive output of a model becomes one turn, because most providers want the calls that were made together in one
 * message, and all of their results after it.
 *
 * @returns the turns, the places of the items without equivalent elsewhere, and the settings that items have changed.
 * @throws {Failure} `invalid_request` naming the item that can't be expressed.
 */
export function readItems(items: readonly Json[], context: ItemContext) {
  const reader = new ItemReader(context);
  for (const [index, item] of items.entries()) {
    const { firstOwn } = context;
    const at = index < firstOwn ? "previous_response_id" : `input.${index - firstOwn}`;
    if (isJsonObject(item)) reader.read(item, at, `input.${index}`);
  }
  const { turns, ignored, effort, format } = reader;
  return { turns, ignored, effort, format };
}

/** The types of items whose parts are read. */
const READ_PARTS = new Set<Json>(["message", "function_call_output", "custom_tool_call_output"]);
/** What every item may have. */
const ALL_HAVE = ["id", "type", "status"];
const CALL = [...ALL_HAVE, "call_id", "name", "namespace"];
const RESULT = [...ALL_HAVE, "call_id", "name", "output"];
/** By types of items, the members that are read, or that say nothing to a model. */
const ITEM_MEMBERS: ReadonlyMap<Json, ReadonlySet<string>> = new Map(
  Object.entries({
    message: [...ALL_HAVE, "role", "content"],
    reasoning: [...ALL_HAVE, "summary", "content", "encrypted_content"],
    function_call: [...CALL, "arguments"],
    custom_tool_call: [...CALL, "input"],
    tool_search_call: [...ALL_HAVE, "call_id", "execution", "arguments"],
    function_call_output: RESULT,
    custom_tool_call_output: RESULT,
    tool_search_output: [...ALL_HAVE, "call_id", "execution", "tools"],
    additional_tools: [...ALL_HAVE, "role", "tools"],
    agent_message: [...ALL_HAVE, "author", "recipient", "content"],
  }).map(([type, names]) => [type, new Set(names)]),
);

const UPDATE_MEMBERS = new Set(["id", "type", "reasoning", "text"]);
const UPDATE_REASONING = new Set(["effort"]);
const UPDATE_TEXT = new Set(["format"]);

class ItemReader {
  readonly #context: ItemContext;
  readonly #turns: Turn[] = [];
  readonly ignored: string[] = [];
  /** The effort that the last item about it sets. `undefined`: there is none, and the request's own counts. */
  effort: Effort | null | undefined;
  /** As {@link effort}, of the format of the answer. */
  format: OutputFormat | null | undefined;
  /** Where the calls made so far stand, to which a signature may belong. */
  readonly #calls = new Map<string, { readonly parts: AssistantPart[]; readonly index: number }>();
  readonly #results = new ResultTurns();
  #said: AssistantPart[] | null = null;

  constructor(context: ItemContext) {
    this.#context = context;
  }

  /** The turns so far. */
  get turns(): readonly Turn[] {
    return this.#results.among(this.#turns);
  }

  /**
   * @param at Where the client has the item, for errors.
   * @param place Where it is in the body, which has the items of earlier responses, too.
   */
  read(item: JsonObject, at: string, place: string): void {
    const type = item.type ?? "message";
    const members = ITEM_MEMBERS.get(type);
    if (members !== undefined) this.ignored.push(...otherMembersOf(item, members, at));
    if (READ_PARTS.has(type)) {
      const name = type === "message" ? "content" : "output";
      const partsAt = `${at}.${name}`;
      this.ignored.push(...otherMembersOfContent(item[name], partsAt));
    }
    switch (type) {
      case "message":
        this.#readMessage(item, at);
        break;
      case "reasoning":
        this.#readReasoning(item, at);
        break;
      case "function_call":
      case "custom_tool_call":
      case "tool_search_call":
        this.#readCall(item, at, place);
        break;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addResult(item.call_id, outputParts(item.output, `${at}.output`), `${at}.call_id`);
        break;
      case "image_generation_call":
        this.#readImage(item, at);
        break;
      case "tool_search_output":
        this.#readFoundTools(item, at, place);
        break;
      case "additional_tools":
        this.#addTools(item, at, place);
        break;
      case "agent_message":
        this.#readAgentMessage(item, at);
        break;
      // Without it the model would continue the conversation, and its client would replace what was said by that.
      case "compaction_trigger":
        throw cannot(at, UNSUPPORTED);
      case "configuration_update":
        this.#readUpdate(item, at, place);
        break;
      default:
        this.ignored.push(at);
    }
  }

  #readMessage({ role, content }: JsonObject, at: string): void {
    const contentAt = `${at}.content`;
    if (role === "assistant") {
      this.#say(saidParts(content, contentAt));
      return;
    }
    this.#said = null;
    const parts = partsOf(content, contentAt, userPart);
    if (role === "user") this.#turns.push({ role: "user", parts });
    else this.#turns.push({ role: "system", parts: parts.map(textOnly) });
  }

  /** What one agent of Codex says to another. Models of other providers know only the user. */
  #readAgentMessage({ author, recipient, content }: JsonObject, at: string): void {
    const said = agentsParts(content ?? [], `${at}.content`, this.ignored);
    const from = `Message from ${textOf(author) ?? "an agent"} to ${textOf(recipient) ?? "you"}:`;
    this.#said = null;
    if (said.length > 0) this.#turns.push({ role: "user", parts: [textPart(from, at), ...said] });
  }

  #readReasoning(item: JsonObject, at: string): void {
    const { encrypted_content: sealed } = item;
    const opened = typeof sealed === "string" ? this.#context.signatures.open(sealed) : null;
    if (opened !== null && opened.callId !== null) {
      this.#sign(opened.callId, opened.signature);
      return;
    }
    const text = textMembersOf(item.summary).join("\n\n") || textMembersOf(item.content).join("\n\n");
    if (text === "" && opened === null) return;
    this.#say([{ kind: "reasoning", text, signature: opened?.signature ?? null, cache: null, at }]);
  }

  /** An image that a model has produced. One that is not inline is the provider's own. */
  #readImage({ result, output_format: format }: JsonObject, at: string): void {
    const url = `data:image/${textOf(format) ?? "png"};base64,${textOf(result) ?? ""}`;
    const source = textOf(result) === null ? null : dataSourceOf(url);
    if (source === null) this.ignored.push(at);
    else this.#say([{ kind: "image", source, signature: null, cache: null, at }]);
  }

  #readCall(item: JsonObject, at: string, place: string): void {
    const { call_id: id } = item;
    const tool = toolOf(item);
    if (typeof id !== "string" || tool === null) {
      // A search that the provider has made, and not the client.
      this.ignored.push(at);
      return;
    }
    const call: ToolCallPart = {
      kind: "call",
      id,
      name: this.#context.tools.nameOf(tool),
      input: this.#inputOf(item, place),
      signature: null,
      cache: null,
      at: `${at}.${item.type === "custom_tool_call" ? "input" : "arguments"}`,
    };
    const parts = this.#say([call]);
    this.#calls.set(id, { parts, index: parts.length - 1 });
  }

  #readFoundTools(item: JsonObject, at: string, place: string): void {
    this.#addTools(item, at, place);
    if (typeof item.call_id !== "string") return;
    const names = arrayOf(item.tools).flatMap((tool) => textOf(objectOf(tool).name) ?? []);
    const text = names.length === 0 ? "No tools found." : `Found tools: ${names.join(", ")}`;
    this.#addResult(item.call_id, [textPart(text, `${at}.tools`)], `${at}.call_id`);
  }

  #addTools({ tools: list }: JsonObject, at: string, place: string): void {
    const { tools } = this.#context;
    this.ignored.push(...addTools(arrayOf(list), `${at}.tools`, { tools, exact: this.#exactAt(at, place) }));
  }

  /** A change of settings for all answers from here on. The AI SDK sends it, so that the beginning of a conversation stays in the cache. */
  #readUpdate(item: JsonObject, at: string, place: string): void {
    const reasoning = objectOf(item.reasoning);
    const text = objectOf(item.text);
    if (reasoning.effort !== undefined) this.effort = effortOf(reasoning.effort, `${at}.reasoning.effort`);
    if (text.format !== undefined) {
      const formatAt = `${at}.text.format`;
      const described = { schema: text.format, schemaAt: formatAt };
      this.format = formatOf(text.format, `${formatAt}.type`, described, this.#exactAt(at, place));
    }
    this.ignored.push(
      ...otherMembersOf(item, UPDATE_MEMBERS, at),
      ...otherMembersOf(reasoning, UPDATE_REASONING, `${at}.reasoning`),
      ...otherMembersOf(text, UPDATE_TEXT, `${at}.text`),
    );
  }

  /** The exact values of an item, by the places that errors name. */
  #exactAt(at: string, place: string): ExactValues {
    return (value, valueAt) => this.#context.exact(value, place + valueAt.slice(at.length));
  }

  #inputOf({ type, arguments: input = {}, input: text }: JsonObject, place: string): string {
    if (type === "custom_tool_call") return customInputJson(textOf(text) ?? "");
    if (typeof input === "string") return input;
    return exactJson(JSON.stringify(this.#context.exact(input ?? {}, `${place}.arguments`)));
  }

  #addResult(callId: Json | undefined, parts: ToolResultPart["parts"], at: string): void {
    const call = typeof callId === "string" ? this.#calls.get(callId) : undefined;
    if (typeof callId !== "string" || call === undefined) {
      throw cannot(at, "must be the id of a call that an earlier item has made");
    }
    if (this.#said === call.parts) this.#said = null;
    this.#results.add(call.parts, { kind: "result", callId, parts, isError: false, cache: null, at });
  }

  /** @returns the parts of the assistant's turn. */
  #say(parts: readonly AssistantPart[]): AssistantPart[] {
    if (this.#said === null) {
      if (parts.length === 0) return [];
      this.#said = [];
      this.#turns.push({ role: "assistant", parts: this.#said });
    }
    for (const part of parts) this.#said.push(part);
    return this.#said;
  }

  #sign(callId: string, signature: Signature): void {
    const place = this.#calls.get(callId);
    const call = place?.parts[place.index];
    if (place !== undefined && call?.kind === "call") place.parts[place.index] = { ...call, signature };
  }
}

function toolOf({ type, name, namespace }: JsonObject): ClientTool | null {
  if (type === "tool_search_call") return SEARCH;
  if (typeof name !== "string") return null;
  return {
    kind: type === "custom_tool_call" ? "custom" : "function",
    namespace: textOf(namespace),
    name,
  };
}
