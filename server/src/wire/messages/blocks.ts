import { messagesEvent } from "../../conversation/control-events.ts";
import { CallInputs } from "../../json/call-inputs.ts";
import type { JsonObject } from "../../json/json.ts";
import { ObjectEnd } from "../../json/object-end.ts";
import { malformedResponse } from "../../upstream/refusal.ts";

/** A piece of a block: the member of its delta, and the text. */
interface Piece {
  readonly member: "text" | "thinking" | "partial_json" | "signature";
  text: string;
}

/** A block of an answer: `content` as its `content_block_start` has it, without the pieces that follow. */
export interface Block {
  readonly index: number;
  readonly content: JsonObject;
  /** What waits for an earlier block to end: pieces of one kind that follow each other as one piece. */
  readonly waiting: Piece[];
  text: string;
  /** The end of the text of a tool call. */
  readonly inputEnd: ObjectEnd;
  /** Whether the text has an end and is not valid. */
  isMalformed: boolean;
  signature: string;
  isEnded: boolean;
}

/**
 * The blocks of an answer, which the Messages API writes one after the other: a block's events wait until all blocks before it have
 * ended.
 */
export class Blocks {
  readonly #all: Block[] = [];
  readonly #inputs = new CallInputs();
  /** The position of the block whose events are written. Those before it are complete. */
  #open = 0;

  /** Begins a block. @returns it, and the events that can be written now. */
  begin(content: JsonObject): { readonly block: Block; readonly events: string } {
    // Providers that send one call after the other do not always tell where one ends.
    const before = this.#all[this.#open];
    const closed = before !== undefined && this.#isWholeCall(before) ? this.end(before) : "";
    const index = this.#all.length;
    const block: Block = {
      index,
      content,
      waiting: [],
      text: "",
      inputEnd: new ObjectEnd(),
      isMalformed: false,
      signature: "",
      isEnded: false,
    };
    this.#all.push(block);
    return { block, events: closed + (index === this.#open ? startOf(block) : "") };
  }

  /** Adds a piece of a block's text, or of a tool call's input. @returns the events that can be written now. */
  add(block: Block, kind: "text" | "thinking" | "partial_json", text: string): string {
    if (block.isEnded || text === "") return "";
    block.text += text;
    if (kind === "partial_json") block.inputEnd.add(text);
    return this.#write(block, { member: kind, text });
  }

  /** Adds the signature of a thought. */
  sign(block: Block, signature: string): string {
    if (block.isEnded) return "";
    block.signature = signature;
    return this.#write(block, { member: "signature", text: signature });
  }

  /** Ends a block. @returns the events that can be written now: also those of blocks that have waited for it. */
  end(block: Block): string {
    if (block.isEnded) return "";
    block.isEnded = true;
    let events = "";
    let open = this.#all[this.#open];
    while (open?.isEnded === true) {
      events += eventOf("content_block_stop", { index: open.index });
      open = this.#all[++this.#open];
      if (open !== undefined) events += startOf(open);
    }
    return events;
  }

  /** Ends every block. */
  endAll(): string {
    return this.#all.map((block) => this.end(block)).join("");
  }

  /**
   * The content of a whole answer, to be written by `exactJson`.
   *
   * @param isCut Whether the answer was cut off, so that the input of its last call may be incomplete.
   * @throws {UpstreamRefused} when a call's input is no JSON object: a tool must not run without its parameters.
   */
  content(isCut: boolean): readonly JsonObject[] {
    return this.#all.map(({ content, text, signature }) => {
      if (content.type === "text") return { ...content, text };
      if (content.type === "thinking") return { ...content, thinking: text, signature };
      if (content.type === "tool_use") return { ...content, input: this.#inputOf(text, isCut) };
      return content;
    });
  }

  /** The Messages API has inputs as objects. Their numbers stay as they are. */
  #inputOf(text: string, isCut: boolean): JsonObject {
    if (text.trim() === "") return {};
    const input = this.#inputs.parseExact(text);
    if (input === null && !isCut) throw malformedResponse();
    return input ?? {};
  }

  /** Whether a block is a call whose input is complete. It is asked at each further block, and parses the input once. */
  #isWholeCall(block: Block): boolean {
    if (block.isEnded || !block.inputEnd.isFound || block.isMalformed) return false;
    block.isMalformed = this.#inputs.parse(block.text) === null;
    return !block.isMalformed;
  }

  #write({ index, waiting }: Block, piece: Piece): string {
    if (index === this.#open) return deltaOf(index, piece);
    const last = waiting.at(-1);
    if (last?.member === piece.member) last.text += piece.text;
    else waiting.push(piece);
    return "";
  }
}

/** The start of a block, with the pieces that have waited for it. */
function startOf({ index, content, waiting }: Block): string {
  const deltas = waiting.splice(0).map((piece) => deltaOf(index, piece));
  return eventOf("content_block_start", { index, content_block: content }) + deltas.join("");
}

function deltaOf(index: number, { member, text }: Piece): string {
  const type = member === "partial_json" ? "input_json_delta" : `${member}_delta`;
  return eventOf("content_block_delta", { index, delta: { type, [member]: text } });
}

/** An event of the Messages API, whose data repeats its type. */
export function eventOf(type: string, fields: JsonObject): string {
  return messagesEvent(type, JSON.stringify({ type, ...fields }));
}
