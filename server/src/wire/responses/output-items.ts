import type { Citation, TokenLogprob } from "../../conversation/answer.ts";
import type { CallInputs } from "../../json/call-inputs.ts";
import type { JsonObject } from "../../json/json.ts";
import { ObjectEnd } from "../../json/object-end.ts";
import { CustomInput } from "../custom-input.ts";
import type { ClientTool } from "./client-tools.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** What all items of a response have in common. */
export interface ItemPlace {
  readonly index: number;
  /** Writes an event of the stream. */
  readonly emit: (type: string, fields: JsonObject) => string;
  /** Whether the events contain encrypted reasoning. */
  readonly showsEncrypted: boolean;
}

export function newId(prefix: string): string {
  return `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** An item of a response while it is written. */
export abstract class OutputItem {
  protected readonly id: string;
  protected status: ItemStatus = "in_progress";
  /** The members of an event by which clients find what it changes. */
  protected position: JsonObject;
  readonly #place: ItemPlace;

  constructor(place: ItemPlace, idPrefix: string) {
    this.id = newId(idPrefix);
    this.#place = place;
    this.position = { item_id: this.id, output_index: place.index };
  }

  open(): string {
    return this.#emitItem("response.output_item.added");
  }

  /** The events that complete it; empty if it is complete. */
  close(status: ItemStatus): string {
    if (this.status !== "in_progress") return "";
    const ended = this.endContent(status);
    this.status = status;
    return ended + this.#emitItem("response.output_item.done");
  }

  /** The item as it is now. `withEncrypted`: with what only this service can read. */
  abstract value(withEncrypted: boolean): JsonObject;

  /** Writes the events that complete its content. `status`: that of the item from then on. */
  protected abstract endContent(status: ItemStatus): string;

  /** Writes an event of the item's content. */
  protected emit(type: string, fields: JsonObject): string {
    return this.#place.emit(type, { ...this.position, ...fields });
  }

  #emitItem(type: string): string {
    const { index, emit, showsEncrypted } = this.#place;
    return emit(type, { output_index: index, item: this.value(showsEncrypted) });
  }
}

interface MessagePart {
  readonly kind: "text" | "refusal";
  text: string;
  readonly logprobs: TokenLogprob[];
  readonly annotations: JsonObject[];
}

/** A message of the model. Its parts follow each other. */
export class MessageItem extends OutputItem {
  readonly #parts: MessagePart[] = [];

  constructor(place: ItemPlace) {
    super(place, "msg");
  }

  add(kind: MessagePart["kind"], text: string, logprobs: readonly TokenLogprob[]): string {
    const last = this.#parts.at(-1);
    if (last?.kind === kind) return this.#delta(last, text, logprobs);
    const closed = this.endContent();
    const part: MessagePart = { kind, text: "", logprobs: [], annotations: [] };
    this.position = { ...this.position, content_index: this.#parts.length };
    this.#parts.push(part);
    const added = this.emit("response.content_part.added", { part: partValue(part) });
    return closed + added + this.#delta(part, text, logprobs);
  }

  /** Adds a page that the text refers to. */
  cite({ url, title, start, end }: Citation): string {
    const part = this.#parts.at(-1);
    if (part?.kind !== "text") return "";
    const annotation = { type: "url_citation", url, title, start_index: start, end_index: end };
    const annotation_index = part.annotations.push(annotation) - 1;
    return this.emit("response.output_text.annotation.added", { annotation_index, annotation });
  }

  value(): JsonObject {
    const content = this.#parts.map(partValue);
    return { id: this.id, type: "message", role: "assistant", status: this.status, content };
  }

  protected endContent(): string {
    const part = this.#parts.at(-1);
    if (part === undefined) return "";
    const done =
      part.kind === "text"
        ? this.emit("response.output_text.done", { text: part.text, logprobs: part.logprobs })
        : this.emit("response.refusal.done", { refusal: part.text });
    return done + this.emit("response.content_part.done", { part: partValue(part) });
  }

  #delta(part: MessagePart, text: string, logprobs: readonly TokenLogprob[]): string {
    part.text += text;
    for (const one of logprobs) part.logprobs.push(one);
    return part.kind === "text"
      ? this.emit("response.output_text.delta", { delta: text, logprobs })
      : this.emit("response.refusal.delta", { delta: text });
  }
}

function partValue({ kind, text, logprobs, annotations }: MessagePart): JsonObject {
  return kind === "text"
    ? { type: "output_text", text, annotations, logprobs }
    : { type: "refusal", refusal: text };
}

/** A thought. Its text is written as one part of a summary. */
export class ReasoningItem extends OutputItem {
  #text = "";
  #encrypted: string | null = null;

  constructor(place: ItemPlace) {
    super(place, "rs");
    this.position = { ...this.position, summary_index: 0 };
  }

  add(text: string): string {
    if (text === "") return "";
    const isFirst = this.#text === "";
    const added = isFirst
      ? this.emit("response.reasoning_summary_part.added", { part: summaryPart("") })
      : "";
    this.#text += text;
    return added + this.emit("response.reasoning_summary_text.delta", { delta: text });
  }

  /** `encrypted`: what the client sends back with the thought. */
  end(encrypted: string | null): string {
    this.#encrypted = encrypted;
    return this.close("completed");
  }

  value(withEncrypted: boolean): JsonObject {
    const summary = this.#text === "" ? [] : [summaryPart(this.#text)];
    const item = { id: this.id, type: "reasoning", status: this.status, summary };
    // The Open Responses specification has a text, or nothing.
    return withEncrypted && this.#encrypted !== null ? { ...item, encrypted_content: this.#encrypted } : item;
  }

  protected endContent(): string {
    const text = this.#text;
    if (text === "") return "";
    return (
      this.emit("response.reasoning_summary_text.done", { text }) +
      this.emit("response.reasoning_summary_part.done", { part: summaryPart(text) })
    );
  }
}

function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** An image, in the form of one that OpenAI's tool for images has made. */
export class ImageItem extends OutputItem {
  readonly #format: string;
  /** Base64. */
  #result: string | null = null;

  constructor(place: ItemPlace, mediaType: string) {
    super(place, "ig");
    this.#format = mediaType.slice("image/".length);
  }

  end(data: string): string {
    const begun = this.emit("response.image_generation_call.in_progress", {});
    this.#result = data;
    return begun + this.close("completed");
  }

  value(): JsonObject {
    const { id, status } = this;
    return { id, type: "image_generation_call", status, output_format: this.#format, result: this.#result };
  }

  protected endContent(): string {
    return this.emit("response.image_generation_call.completed", {});
  }
}

/** A call of a tool, in the form of the tool's kind. */
export abstract class CallItem extends OutputItem {
  readonly callId: string;
  protected readonly tool: ClientTool;
  protected readonly inputs: CallInputs;

  constructor(place: ItemPlace, idPrefix: string, tool: ClientTool, callId: string, inputs: CallInputs) {
    super(place, idPrefix);
    this.tool = tool;
    this.callId = callId;
    this.inputs = inputs;
  }

  /** Adds a piece of the call's input. To a call that is complete it adds nothing. */
  add(piece: string): string {
    return this.status === "in_progress" ? this.addInput(piece) : "";
  }

  /** Whether the input so far is only the beginning of one. */
  abstract get isCut(): boolean;

  /** Whether the input so far is a whole one, to which nothing can be added. */
  abstract get isWhole(): boolean;

  protected abstract addInput(piece: string): string;

  /** The members of every call of a tool with a name. */
  protected named(type: string): JsonObject {
    const { id, status, callId: call_id, tool } = this;
    const namespace = tool.namespace === null ? {} : { namespace: tool.namespace };
    return { id, type, status, call_id, ...namespace, name: tool.name };
  }
}

/** A call whose input is an object. */
abstract class ObjectCallItem extends CallItem {
  protected input = "";
  readonly #end = new ObjectEnd();
  #object: JsonObject | null = null;
  #isParsed = false;

  get isCut(): boolean {
    return !this.#end.isFound && this.inputs.isCutOff(this.input);
  }

  get isWhole(): boolean {
    return this.#end.isFound && this.object() !== null;
  }

  protected addInput(piece: string): string {
    this.input += piece;
    this.#end.add(piece);
    return "";
  }

  /** The input; `null` if it is no object. It is parsed once: after the end of an object no more text makes another one of it. */
  protected object(): JsonObject | null {
    if (!this.#isParsed) this.#object = this.inputs.parse(this.input);
    this.#isParsed = true;
    return this.#object;
  }
}

class FunctionCallItem extends ObjectCallItem {
  protected override addInput(piece: string): string {
    super.addInput(piece);
    return piece === "" ? "" : this.emit("response.function_call_arguments.delta", { delta: piece });
  }

  value(): JsonObject {
    return { ...this.named("function_call"), arguments: this.input };
  }

  protected endContent(status: ItemStatus): string {
    // A tool without parameters may be called without input. Clients parse it. A call that was cut off must not become a whole one.
    const filled = this.input === "" && status === "completed" ? this.addInput("{}") : "";
    const { name } = this.tool;
    return filled + this.emit("response.function_call_arguments.done", { name, arguments: this.input });
  }
}

class CustomCallItem extends CallItem {
  readonly #input = new CustomInput(this.inputs);

  get isCut(): boolean {
    return this.#input.isCut;
  }

  get isWhole(): boolean {
    return this.#input.isWhole;
  }

  protected addInput(piece: string): string {
    return this.#delta(this.#input.push(piece));
  }

  value(): JsonObject {
    return { ...this.named("custom_tool_call"), input: this.#input.text };
  }

  protected endContent(): string {
    const rest = this.#delta(this.#input.end());
    return rest + this.emit("response.custom_tool_call_input.done", { input: this.#input.text });
  }

  #delta(text: string): string {
    return text === "" ? "" : this.emit("response.custom_tool_call_input.delta", { delta: text });
  }
}

/** A search for tools. Its input is an object, and has no events of its own. */
class SearchCallItem extends ObjectCallItem {
  value(): JsonObject {
    const { id, callId: call_id, status } = this;
    const input = status === "in_progress" ? {} : (this.object() ?? {});
    return { id, type: "tool_search_call", status, call_id, execution: "client", arguments: input };
  }

  protected endContent(): string {
    return "";
  }
}

export function callItem(place: ItemPlace, tool: ClientTool, callId: string, inputs: CallInputs): CallItem {
  switch (tool.kind) {
    case "function":
      return new FunctionCallItem(place, "fc", tool, callId, inputs);
    case "custom":
      return new CustomCallItem(place, "ctc", tool, callId, inputs);
    case "search":
      return new SearchCallItem(place, "tsc", tool, callId, inputs);
  }
}
