import type { Json, JsonObject } from "../../json/json.ts";
import { parseJsonObject } from "../../json/json.ts";
import type { ClientTool } from "./client-tools.ts";
import { CustomInput } from "./custom-input.ts";

/** Writes an event of the stream. */
export type Emit = (type: string, fields: JsonObject) => string;
export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** An item of a response while it is written. */
export interface OutputItem {
  /** The item as it is now. `withEncrypted`: with what only this service can read. */
  value(withEncrypted: boolean): JsonObject;
  /** The events that complete it; empty if it is complete. */
  close(status: ItemStatus): string;
}

/** What all items have in common. */
export interface ItemPlace {
  readonly index: number;
  readonly emit: Emit;
}

export function newId(prefix: string): string {
  return `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;
}

interface MessagePart {
  readonly kind: "text" | "refusal";
  text: string;
}

/** A message of the model. Its parts follow each other. */
export class MessageItem implements OutputItem {
  readonly #id = newId("msg");
  readonly #place: ItemPlace;
  readonly #parts: MessagePart[] = [];
  #status: ItemStatus = "in_progress";

  constructor(place: ItemPlace) {
    this.#place = place;
  }

  open(): string {
    const { index, emit } = this.#place;
    return emit("response.output_item.added", { output_index: index, item: this.value() });
  }

  add(kind: MessagePart["kind"], text: string): string {
    const last = this.#parts.at(-1);
    if (last?.kind === kind) return this.#delta(last, text);
    const closed = this.#closePart();
    const part: MessagePart = { kind, text: "" };
    this.#parts.push(part);
    const added = this.#emit("response.content_part.added", { part: partValue(part) });
    return closed + added + this.#delta(part, text);
  }

  close(status: ItemStatus): string {
    if (this.#status !== "in_progress") return "";
    const closed = this.#closePart();
    this.#status = status;
    const { index, emit } = this.#place;
    return closed + emit("response.output_item.done", { output_index: index, item: this.value() });
  }

  value(): JsonObject {
    const content = this.#parts.map(partValue);
    return { id: this.#id, type: "message", role: "assistant", status: this.#status, content };
  }

  #delta(part: MessagePart, text: string): string {
    part.text += text;
    if (text === "") return "";
    return part.kind === "text"
      ? this.#emit("response.output_text.delta", { delta: text, logprobs: [] })
      : this.#emit("response.refusal.delta", { delta: text });
  }

  #closePart(): string {
    const part = this.#parts.at(-1);
    if (part === undefined) return "";
    const done =
      part.kind === "text"
        ? this.#emit("response.output_text.done", { text: part.text, logprobs: [] })
        : this.#emit("response.refusal.done", { refusal: part.text });
    return done + this.#emit("response.content_part.done", { part: partValue(part) });
  }

  #emit(type: string, fields: JsonObject): string {
    const { index, emit } = this.#place;
    const content_index = this.#parts.length - 1;
    return emit(type, { item_id: this.#id, output_index: index, content_index, ...fields });
  }
}

function partValue({ kind, text }: MessagePart): JsonObject {
  return kind === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "refusal", refusal: text };
}

/** A thought. Its text is written as one part of a summary. */
export class ReasoningItem implements OutputItem {
  readonly #id = newId("rs");
  readonly #place: ItemPlace;
  readonly #showsEncrypted: boolean;
  #text = "";
  #encrypted: string | null = null;
  #status: ItemStatus = "in_progress";

  constructor(place: ItemPlace, showsEncrypted: boolean) {
    this.#place = place;
    this.#showsEncrypted = showsEncrypted;
  }

  open(): string {
    const { index, emit } = this.#place;
    const item = this.value(this.#showsEncrypted);
    return emit("response.output_item.added", { output_index: index, item });
  }

  add(text: string): string {
    if (text === "") return "";
    const added =
      this.#text === "" ? this.#emit("response.reasoning_summary_part.added", { part: summaryPart("") }) : "";
    this.#text += text;
    return added + this.#emit("response.reasoning_summary_text.delta", { delta: text });
  }

  /** `encrypted`: what the client sends back with the thought. */
  end(encrypted: string | null): string {
    this.#encrypted = encrypted;
    return this.close("completed");
  }

  close(status: ItemStatus): string {
    if (this.#status !== "in_progress") return "";
    this.#status = status;
    const { index, emit } = this.#place;
    const part = summaryPart(this.#text);
    const summary =
      this.#text === ""
        ? ""
        : this.#emit("response.reasoning_summary_text.done", { text: this.#text }) +
          this.#emit("response.reasoning_summary_part.done", { part });
    const item = this.value(this.#showsEncrypted);
    return summary + emit("response.output_item.done", { output_index: index, item });
  }

  value(withEncrypted: boolean): JsonObject {
    const summary = this.#text === "" ? [] : [summaryPart(this.#text)];
    const item = { id: this.#id, type: "reasoning", status: this.#status, summary };
    return withEncrypted ? { ...item, encrypted_content: this.#encrypted } : item;
  }

  #emit(type: string, fields: JsonObject): string {
    const { index, emit } = this.#place;
    return emit(type, { item_id: this.#id, output_index: index, summary_index: 0, ...fields });
  }
}

function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** A call of a tool, in the form of the tool's kind. */
export abstract class CallItem implements OutputItem {
  readonly callId: string;
  protected readonly place: ItemPlace;
  protected readonly tool: ClientTool;
  protected status: ItemStatus = "in_progress";
  protected abstract readonly id: string;

  constructor(place: ItemPlace, tool: ClientTool, callId: string) {
    this.place = place;
    this.tool = tool;
    this.callId = callId;
  }

  open(): string {
    const { index, emit } = this.place;
    return emit("response.output_item.added", { output_index: index, item: this.value() });
  }

  abstract add(piece: string): string;
  abstract value(): JsonObject;

  close(status: ItemStatus): string {
    if (this.status !== "in_progress") return "";
    const inputDone = this.endInput(status);
    this.status = status;
    const { index, emit } = this.place;
    return inputDone + emit("response.output_item.done", { output_index: index, item: this.value() });
  }

  protected abstract endInput(status: ItemStatus): string;

  protected emit(type: string, fields: JsonObject): string {
    const { index, emit } = this.place;
    return emit(type, { item_id: this.id, output_index: index, ...fields });
  }

  protected get named(): JsonObject {
    const { namespace, name } = this.tool;
    return namespace === null ? { name } : { namespace, name };
  }
}

class FunctionCallItem extends CallItem {
  protected readonly id = newId("fc");
  #input = "";

  add(piece: string): string {
    this.#input += piece;
    return piece === "" ? "" : this.emit("response.function_call_arguments.delta", { delta: piece });
  }

  value(): JsonObject {
    const { id, callId: call_id, status } = this;
    return { id, type: "function_call", status, call_id, ...this.named, arguments: this.#input };
  }

  protected endInput(status: ItemStatus): string {
    // A tool without parameters may be called without input. Clients parse it. A call that was cut off must not become a whole one.
    const filled = this.#input === "" && status === "completed" ? this.add("{}") : "";
    const { name } = this.tool;
    return filled + this.emit("response.function_call_arguments.done", { name, arguments: this.#input });
  }
}

class CustomCallItem extends CallItem {
  protected readonly id = newId("ctc");
  readonly #input = new CustomInput();

  add(piece: string): string {
    return this.#delta(this.#input.push(piece));
  }

  value(): JsonObject {
    const { id, callId: call_id, status } = this;
    return { id, type: "custom_tool_call", status, call_id, ...this.named, input: this.#input.text };
  }

  protected endInput(): string {
    const rest = this.#delta(this.#input.end());
    return rest + this.emit("response.custom_tool_call_input.done", { input: this.#input.text });
  }

  #delta(text: string): string {
    return text === "" ? "" : this.emit("response.custom_tool_call_input.delta", { delta: text });
  }
}

/** A search for tools. Its input is an object, and has no events of its own. */
class SearchCallItem extends CallItem {
  protected readonly id = newId("tsc");
  #input = "";

  add(piece: string): string {
    this.#input += piece;
    return "";
  }

  value(): JsonObject {
    const { id, callId: call_id, status } = this;
    const input: Json = status === "in_progress" ? {} : (parseJsonObject(this.#input) ?? {});
    return { id, type: "tool_search_call", status, call_id, execution: "client", arguments: input };
  }

  protected endInput(): string {
    return "";
  }
}

export function callItem(place: ItemPlace, tool: ClientTool, callId: string): CallItem {
  switch (tool.kind) {
    case "function":
      return new FunctionCallItem(place, tool, callId);
    case "custom":
      return new CustomCallItem(place, tool, callId);
    case "search":
      return new SearchCallItem(place, tool, callId);
  }
}
