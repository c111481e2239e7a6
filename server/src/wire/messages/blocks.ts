import { messagesEvent } from "../../conversation/signs.ts";
import { type JsonObject, parseJsonObject } from "../../json/json.ts";
import { malformedResponse } from "../../upstream/refusal.ts";

/** A block of an answer: `content` as its `content_block_start` has it, without the pieces that follow. */
interface Block {
  readonly content: JsonObject;
  /** Pieces that wait for an earlier block to end. */
  readonly waiting: JsonObject[];
  text: string;
  signature: string;
  isEnded: boolean;
}

/**
 * The blocks of an answer, which the Messages API writes one after the other: a block's events wait until all blocks before it have
 * ended.
 */
export class Blocks {
  readonly #all: Block[] = [];
  /** The position of the block whose events are written. Those before it are complete. */
  #open = 0;

  /** Begins a block. @returns its number, and the events that can be written now. */
  begin(content: JsonObject): { readonly block: number; readonly events: string } {
    // Providers that send one call after the other do not always tell where one ends.
    const before = this.#all[this.#open];
    const closed = before !== undefined && isWholeCall(before) ? this.end(this.#open) : "";
    const block = this.#all.length;
    this.#all.push({ content, waiting: [], text: "", signature: "", isEnded: false });
    return { block, events: closed + (block === this.#open ? this.#startOf(block) : "") };
  }

  /** Adds a piece of a block's text, or of a tool call's input. @returns the events that can be written now. */
  add(number: number, kind: "text" | "thinking" | "partial_json", text: string): string {
    const block = this.#all[number];
    if (block === undefined || block.isEnded || text === "") return "";
    block.text += text;
    const type = kind === "partial_json" ? "input_json_delta" : `${kind}_delta`;
    return this.#write(number, block, { type, [kind]: text });
  }

  /** Adds the signature of a thought. */
  sign(number: number, signature: string): string {
    const block = this.#all[number];
    if (block === undefined || block.isEnded) return "";
    block.signature = signature;
    return this.#write(number, block, { type: "signature_delta", signature });
  }

  /** Ends a block. @returns the events that can be written now: also those of blocks that have waited for it. */
  end(number: number): string {
    const block = this.#all[number];
    if (block === undefined || block.isEnded) return "";
    block.isEnded = true;
    let events = "";
    while (this.#all[this.#open]?.isEnded === true) {
      events += eventOf("content_block_stop", { index: this.#open });
      this.#open++;
      events += this.#startOf(this.#open);
    }
    return events;
  }

  /** Ends every block. */
  endAll(): string {
    return this.#all.map((_, number) => this.end(number)).join("");
  }

  /**
   * The content of a whole answer.
   *
   * @param isCut Whether the answer was cut off, so that the input of its last call may be incomplete.
   * @throws {UpstreamRefused} when a call's input is no JSON object: a tool must not run without its parameters.
   */
  content(isCut: boolean): readonly JsonObject[] {
    return this.#all.map(({ content, text, signature }) => {
      if (content.type === "text") return { ...content, text };
      if (content.type === "thinking") return { ...content, thinking: text, signature };
      if (content.type === "tool_use") return { ...content, input: inputOf(text, isCut) };
      return content;
    });
  }

  #startOf(index: number): string {
    const block = this.#all[index];
    if (block === undefined) return "";
    const deltas = block.waiting.splice(0).map((delta) => eventOf("content_block_delta", { index, delta }));
    return eventOf("content_block_start", { index, content_block: block.content }) + deltas.join("");
  }

  #write(index: number, block: Block, delta: JsonObject): string {
    if (index === this.#open) return eventOf("content_block_delta", { index, delta });
    block.waiting.push(delta);
    return "";
  }
}

/** The Messages API has inputs as objects. */
function inputOf(text: string, isCut: boolean): JsonObject {
  const input = text.trim() === "" ? {} : parseJsonObject(text);
  if (input === null && !isCut) throw malformedResponse();
  return input ?? {};
}

function isWholeCall({ content, text, isEnded }: Block): boolean {
  return content.type === "tool_use" && !isEnded && parseJsonObject(text) !== null;
}

/** An event of the Messages API, whose data repeats its type. */
export function eventOf(type: string, fields: JsonObject): string {
  return messagesEvent(type, JSON.stringify({ type, ...fields }));
}
