import {
  type AssistantPart,
  cannot,
  type FilePart,
  type ImagePart,
  type Signature,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { dataSourceOf, mediaSourceOf } from "../../conversation/media.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { addTools, type ClientTool, type ClientTools, TOOL_SEARCH } from "./client-tools.ts";

/** A signature that a reasoning item has carried. */
export interface OpenedSignature {
  readonly signature: Signature;
  /** The call that it belongs to; `null`: the thought itself. */
  readonly callId: string | null;
}

export interface ItemContext {
  /** Tools that items bring along are added. */
  readonly tools: ClientTools;
  /** Opens what this service has sealed; `null` for anything else. */
  readonly open: (sealed: string) => OpenedSignature | null;
  /** The position of the first item that the request itself has. Those before are of earlier responses. */
  readonly firstOwn: number;
}

export interface ReadItems {
  readonly turns: readonly Turn[];
  /** The items without equivalent elsewhere. */
  readonly ignored: readonly string[];
}

/**
 * Reads the items of an input. What a model has put out in one go becomes one turn, because most providers want the calls that were
 * made together in one message, and all of their results after it.
 *
 * @throws {Failure} `invalid_request` naming the item that can't be expressed.
 */
export function readItems(items: readonly Json[], context: ItemContext): ReadItems {
  const reader = new ItemReader(context);
  for (const [index, item] of items.entries()) {
    const { firstOwn } = context;
    const at = index < firstOwn ? "previous_response_id" : `input.${index - firstOwn}`;
    if (isJsonObject(item)) reader.read(item, at);
  }
  return reader.end();
}

class ItemReader {
  readonly #context: ItemContext;
  readonly #turns: Turn[] = [];
  readonly #ignored: string[] = [];
  /** Where the calls made so far stand, to which a signature may belong. */
  readonly #calls = new Map<string, { readonly parts: AssistantPart[]; readonly index: number }>();
  /** The results of the calls of a turn, which follow it: most providers refuse anything in between. */
  readonly #results = new Map<readonly AssistantPart[], ToolResultPart[]>();
  #said: AssistantPart[] | null = null;

  constructor(context: ItemContext) {
    this.#context = context;
  }

  read(item: JsonObject, at: string): void {
    switch (item.type ?? "message") {
      case "message":
        this.#readMessage(item, at);
        break;
      case "reasoning":
        this.#readReasoning(item, at);
        break;
      case "function_call":
      case "custom_tool_call":
      case "tool_search_call":
        this.#readCall(item, at);
        break;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addResult(item.call_id, outputParts(item.output, `${at}.output`), `${at}.call_id`);
        break;
      case "tool_search_output":
        this.#readFoundTools(item, at);
        break;
      case "additional_tools":
        this.#addTools(item, at);
        break;
      default:
        this.#ignored.push(at);
    }
  }

  end(): ReadItems {
    return { turns: this.#turns, ignored: this.#ignored };
  }

  #readMessage({ role, content }: JsonObject, at: string): void {
    const contentAt = `${at}.content`;
    if (role === "assistant") {
      this.#say(...saidParts(content, contentAt));
      return;
    }
    this.#said = null;
    const parts = userParts(content, contentAt);
    if (role === "user") this.#turns.push({ role: "user", parts });
    else this.#turns.push({ role: "system", parts: parts.map(textOnly) });
  }

  #readReasoning(item: JsonObject, at: string): void {
    const { encrypted_content: sealed } = item;
    const opened = typeof sealed === "string" ? this.#context.open(sealed) : null;
    if (opened !== null && opened.callId !== null) {
      this.#sign(opened.callId, opened.signature);
      return;
    }
    const text = textsOf(item.summary) || textsOf(item.content);
    if (text === "" && opened === null) return;
    this.#say({ kind: "reasoning", text, signature: opened?.signature ?? null, cache: null, at });
  }

  #readCall(item: JsonObject, at: string): void {
    const { call_id: id } = item;
    const tool = toolOf(item);
    if (typeof id !== "string" || tool === null) {
      // A search that the provider has made, and not the client.
      this.#ignored.push(at);
      return;
    }
    const name = this.#context.tools.nameOf(tool);
    const call: ToolCallPart = {
      kind: "call",
      id,
      name,
      input: inputOf(item),
      signature: null,
      cache: null,
      at: `${at}.${item.type === "custom_tool_call" ? "input" : "arguments"}`,
    };
    const parts = this.#say(call);
    this.#calls.set(id, { parts, index: parts.length - 1 });
  }

  #readFoundTools(item: JsonObject, at: string): void {
    const found = Array.isArray(item.tools) ? item.tools : [];
    this.#addTools(item, at);
    if (typeof item.call_id !== "string") return;
    const names = found.flatMap((tool: Json) =>
      isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : [],
    );
    const text = names.length === 0 ? "No tools found." : `Found tools: ${names.join(", ")}`;
    const part: TextPart = { kind: "text", text, cache: null, at: `${at}.tools` };
    this.#addResult(item.call_id, [part], `${at}.call_id`);
  }

  #addTools({ tools }: JsonObject, at: string): void {
    const list = Array.isArray(tools) ? tools : [];
    this.#ignored.push(...addTools(this.#context.tools, list, `${at}.tools`));
  }

  #addResult(callId: Json | undefined, parts: ToolResultPart["parts"], at: string): void {
    const call = typeof callId === "string" ? this.#calls.get(callId) : undefined;
    if (typeof callId !== "string" || call === undefined) {
      throw cannot(at, "must be the id of a call that an earlier item has made");
    }
    if (this.#said === call.parts) this.#said = null;
    let results = this.#results.get(call.parts);
    if (results === undefined) {
      results = [];
      this.#results.set(call.parts, results);
      const turn = this.#turns.findLastIndex((one) => one.parts === call.parts);
      this.#turns.splice(turn + 1, 0, { role: "tool", parts: results });
    }
    results.push({ kind: "result", callId, parts, isError: false, cache: null, at });
  }

  /** @returns the parts of the assistant's turn. */
  #say(...parts: readonly AssistantPart[]): AssistantPart[] {
    if (this.#said === null) {
      if (parts.length === 0) return [];
      this.#said = [];
      this.#turns.push({ role: "assistant", parts: this.#said });
    }
    this.#said.push(...parts);
    return this.#said;
  }

  #sign(callId: string, signature: Signature): void {
    const place = this.#calls.get(callId);
    const call = place?.parts[place.index];
    if (place !== undefined && call?.kind === "call") place.parts[place.index] = { ...call, signature };
  }
}

function toolOf({ type, name, namespace }: JsonObject): ClientTool | null {
  if (type === "tool_search_call") return { kind: "search", namespace: null, name: TOOL_SEARCH };
  if (typeof name !== "string") return null;
  return {
    kind: type === "custom_tool_call" ? "custom" : "function",
    namespace: typeof namespace === "string" ? namespace : null,
    name,
  };
}

function inputOf({ type, arguments: input, input: text }: JsonObject): string {
  if (type === "custom_tool_call") return JSON.stringify({ input: typeof text === "string" ? text : "" });
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

/** The texts of a summary, or of a thought. */
function textsOf(parts: Json | undefined): string {
  if (!Array.isArray(parts)) return "";
  return parts
    .flatMap((part: Json) => (isJsonObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n\n");
}

function saidParts(content: Json | undefined, at: string): AssistantPart[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content, at)];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of parts");
  return content.flatMap((part: Json, index): AssistantPart[] => {
    const partAt = `${at}.${index}`;
    const { type, text, refusal } = isJsonObject(part) ? part : {};
    if (type === "refusal" && typeof refusal === "string") {
      return [{ kind: "refusal", text: refusal, cache: null, at: partAt }];
    }
    if (typeof text !== "string") throw cannot(partAt, "must be a text or a refusal");
    return text === "" ? [] : [textPart(text, partAt)];
  });
}

function userParts(content: Json | undefined, at: string): UserPart[] {
  if (typeof content === "string") return [textPart(content, at)];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of parts");
  return content.map((part: Json, index) => userPart(part, `${at}.${index}`));
}

function userPart(part: Json, at: string): UserPart {
  if (!isJsonObject(part)) throw cannot(at, "must be a part of a message");
  const { type } = part;
  if ((type === "input_text" || type === "output_text" || type === "text") && typeof part.text === "string") {
    return textPart(part.text, at);
  }
  if (type === "input_image") return imagePart(part, at);
  if (type === "input_file") return filePart(part, at);
  if (type === "input_audio" && isJsonObject(part.input_audio)) {
    const { data, format } = part.input_audio;
    if (typeof data === "string" && (format === "wav" || format === "mp3")) {
      return { kind: "audio", data, format, cache: null, at: `${at}.input_audio` };
    }
  }
  throw cannot(at, "is not supported by this model");
}

function outputParts(output: Json | undefined, at: string): ToolResultPart["parts"] {
  return userParts(output, at).map((part) => {
    if (part.kind === "audio") throw cannot(part.at, "must not be a part of a tool's result");
    return part;
  });
}

function textPart(text: string, at: string): TextPart {
  return { kind: "text", text, cache: null, at };
}

function textOnly(part: UserPart): TextPart {
  if (part.kind !== "text") throw cannot(part.at, "must be a text: instructions contain nothing else");
  return part;
}

function imagePart({ image_url: url, detail }: JsonObject, at: string): ImagePart {
  if (typeof url !== "string") throw cannot(`${at}.image_url`, "is required: this service stores no files");
  const source = mediaSourceOf(url, `${at}.image_url`);
  const asked = typeof detail === "string" && detail !== "auto" ? detail : null;
  return { kind: "image", source, detail: asked, isDetailOptional: true, cache: null, at };
}

function filePart({ file_data: data, file_url: url, filename }: JsonObject, at: string): FilePart {
  const name = typeof filename === "string" ? filename : null;
  if (typeof url === "string") {
    const source = mediaSourceOf(url, `${at}.file_url`);
    return { kind: "file", source, filename: name, cache: null, at };
  }
  const source = typeof data === "string" ? dataSourceOf(data) : null;
  if (source === null) {
    throw cannot(`${at}.file_data`, "must be a data URL with base64: this service stores no files");
  }
  return { kind: "file", source, filename: name, cache: null, at };
}
