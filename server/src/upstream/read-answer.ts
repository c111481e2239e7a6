import type {
  AnswerEvent,
  AnswerPiece,
  Citation,
  Filtered,
  FinishReason,
  TokenLogprob,
} from "../conversation/answer.ts";
import type { Signature } from "../conversation/conversation.ts";
import { isJsonObject, type Json } from "../json/json.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { answerText, eventDataOf, parseable } from "./answer-body.ts";
import { type ConversationAnswer, withUsage } from "./dialect.ts";
import { jsonText, malformedResponse } from "./refusal.ts";
import { TransportError, type TransportResponse } from "./transport.ts";
import { begunAnswer } from "./whole-for-stream.ts";

/**
 * What is read of a stream is kept until its end, because clients' formats repeat the answer there. No model's answer is as long: 128,000 tokens in an
 * event each take half of it.
 */
const MAX_STREAM_CHARACTERS = 128 * 1024 * 1024;

/**
 * The maximum of calls, images, thoughts and texts that follow each other. No model's answer has as many. Each takes kilobytes in a client's format,
 * although an upstream writes it with some bytes.
 */
const MAX_ITEMS = 10_000;

/** Reads an answer in a provider's format, piece by piece, and collects its events. */
export abstract class AnswerReader {
  /** The tool whose input is the answer, for models without the output format that was asked for; `null`: none. */
  protected readonly answerTool: string | null;
  /** Whether that tool was called. */
  protected isAnswered = false;
  /** The text beside that tool, which counts only if the tool is not called. */
  #heldBack = "";
  #events: AnswerEvent[] = [];
  #isOver = false;
  #isThinking = false;
  #items = 0;
  /** The kind of what is being said, which further pieces continue. */
  #said: AnswerEvent["kind"] | null = null;

  constructor(answerTool: string | null = null) {
    this.answerTool = answerTool;
  }

  /** Whether the `finish` was found: what a stream has after it is not read. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The usage that was reported so far, by providers that report it before the end. */
  get usageSoFar(): Usage | null {
    return null;
  }

  /** Reads a whole answer. @throws {UpstreamRefused} for a failure or what is malformed. */
  abstract readWhole(text: string): void;

  /** Reads the data of one event of a stream. @throws as {@link readWhole}. */
  abstract read(data: string): void;

  /** Finishes what the upstream has ended without a `finish`. @throws {TransportError} if the answer is incomplete. */
  abstract end(): void;

  /** Takes what was read since the last call. */
  takePiece(): AnswerPiece {
    const events = this.#events;
    this.#events = [];
    return { events, usageSoFar: this.usageSoFar };
  }

  /** @throws {UpstreamRefused} as {@link countItem}. */
  protected found(event: AnswerEvent): void {
    this.#countBegun(event.kind);
    this.#events.push(event);
  }

  /** Counts something that an answer consists of. @throws {UpstreamRefused} when there are more than a model's answer has. */
  protected countItem(): void {
    if (++this.#items > MAX_ITEMS) throw malformedResponse();
  }

  #countBegun(kind: AnswerEvent["kind"]): void {
    switch (kind) {
      case "text":
      case "refusal":
      case "reasoning":
        if (this.#said !== kind) this.countItem();
        this.#said = kind;
        break;
      case "citation":
        this.countItem();
        break;
      case "call":
      case "image":
      case "reasoning-end":
        this.countItem();
        this.#said = null;
    }
  }

  protected foundText(text: string, logprobs?: readonly TokenLogprob[]): void {
    if (text === "") return;
    if (this.answerTool === null) this.found({ kind: "text", text, ...(logprobs && { logprobs }) });
    else this.#heldBack += text;
  }

  /** The pages that the text refers to. */
  protected foundCitations(citations: readonly Citation[]): void {
    if (this.answerTool !== null) return;
    for (const citation of citations) this.found({ kind: "citation", ...citation });
  }

  protected foundThought(text: string): void {
    this.#isThinking = true;
    this.found({ kind: "reasoning", text });
  }

  /** A piece of a thought that the provider may want back with the calls that follow. */
  protected foundNeededThought(text: string): void {
    this.#isThinking = true;
    this.found({ kind: "reasoning", text, isNeededByCalls: true });
  }

  /** Ends the thought that was begun, if any. One that the provider does not show has only a signature. */
  protected endThought(signature: Signature | null = null): void {
    if (!this.#isThinking && signature === null) return;
    this.#isThinking = false;
    this.found({ kind: "reasoning-end", signature });
  }

  /** Ends the thought that was begun by {@link foundNeededThought}, if any. */
  protected endNeededThought(signature: Signature): void {
    if (!this.#isThinking) return;
    this.#isThinking = false;
    this.found({ kind: "reasoning-end", signature, isNeededByCalls: true });
  }

  /** `filtered`: what the provider says about a filtered answer; `null`: nothing. */
  protected finish(
    reason: FinishReason,
    stopSequence: string | null,
    usage: Usage | null,
    filtered: Filtered | null = null,
  ): void {
    if (this.#heldBack !== "" && !this.isAnswered) this.found({ kind: "text", text: this.#heldBack });
    const told = reason === "filter" && filtered !== null ? { filtered } : {};
    this.found({ kind: "finish", reason, stopSequence, usage, ...told });
    this.#isOver = true;
  }
}

/** The failure of an answer that its upstream has ended without what completes it. */
export function incompleteAnswer(missing: string): TransportError {
  return new TransportError("cut", `the upstream's answer ended without ${missing}`);
}

/** The id of a call, which some servers do not give. */
export function callIdOf(id: Json | undefined): string {
  return typeof id === "string" && id !== "" ? id : `call_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** The name of the tool that a call is of. @throws {UpstreamRefused} for a call without one: no client can run it. */
export function callNameOf(name: Json | undefined): string {
  if (typeof name !== "string" || name === "") throw malformedResponse();
  return name;
}

/**
 * The input of a call, or a piece of it, as JSON. Some servers write an object where others write a text. `""`: there is none.
 *
 * @throws {UpstreamRefused} for anything else: a tool must not run without its parameters.
 */
export function callInputText(input: Json | undefined): string {
  if (input === undefined || input === null) return "";
  if (typeof input === "string") return input;
  if (!isJsonObject(input)) throw malformedResponse();
  return jsonText(input);
}

interface AnswerReading {
  readonly stream: boolean;
  readonly reader: AnswerReader;
  /** Fields of the request that were ignored, by the client's names. */
  readonly ignored: readonly string[];
  /** Asks for the rest of an answer that takes several requests; `null`: there is no more. */
  readonly more?: () => Promise<TransportResponse> | null;
}

const nothingMore = () => null;

/** Reads the answer to a conversation. A whole answer is read at once, even if a stream was requested. @throws {UpstreamRefused} for a malformed one. */
export async function readAnswer(
  first: TransportResponse,
  reading: AnswerReading,
): Promise<ConversationAnswer> {
  const { stream, reader, ignored, more = nothingMore } = reading;
  const { response: begun, isWhole } = stream ? await begunAnswer(first) : { response: first, isWhole: true };
  if (!isWhole) return { events: eventsOfStream(begun, reading), ignored };
  for (let response: TransportResponse | null = begun; response !== null; response = await more()) {
    const text = await answerText(response);
    try {
      reader.readWhole(text);
    } catch (error) {
      throw withUsage(error, reader.usageSoFar);
    }
  }
  if (!reader.isOver) reader.end();
  return { events: [reader.takePiece()], ignored };
}

/** The characters of a piece that stay in memory until the answer has ended. */
function keptCharacters({ events }: AnswerPiece): number {
  let characters = 0;
  for (const event of events) {
    if ("text" in event) characters += event.text.length;
    else if (event.kind === "call") characters += event.id.length + event.name.length;
    else if (event.kind === "image") characters += event.data.length;
    else if (event.kind === "citation") characters += event.url.length + event.title.length;
    else if (event.kind === "finish") characters += event.filtered?.explanation?.length ?? 0;
    if (event.kind === "text") characters += charactersOf(event.logprobs ?? []);
    const fields = "signature" in event ? event.signature?.fields : undefined;
    if (fields !== undefined) for (const value of Object.values(fields)) characters += value.length;
  }
  return characters;
}

/** The characters that a probability takes in a client's format, and each of its bytes. */
const LOGPROB_CHARACTERS = 64;
const BYTE_CHARACTERS = 4;

function charactersOf(logprobs: readonly TokenLogprob[]): number {
  let characters = 0;
  for (const own of logprobs)
    for (const { bytes } of [own, ...own.top_logprobs])
      characters += LOGPROB_CHARACTERS + bytes.length * BYTE_CHARACTERS;
  return characters;
}

/** The events of a stream: those of a piece together, also when a later part of it can't be read. */
async function* eventsOfStream(
  first: TransportResponse,
  { reader, more = nothingMore }: AnswerReading,
): AsyncGenerator<AnswerPiece> {
  let characters = 0;
  for (let response: TransportResponse | null = first; response !== null; response = await more()) {
    for await (const list of eventDataOf(response.body)) {
      try {
        for (const data of list) {
          if (data === "") continue;
          characters += data.length;
          if (characters > MAX_STREAM_CHARACTERS) throw malformedResponse();
          reader.read(parseable(data));
          if (reader.isOver) break;
        }
      } catch (error) {
        yield reader.takePiece();
        throw error;
      }
      const piece = reader.takePiece();
      response.body.memory?.reserve(keptCharacters(piece));
      yield piece;
      if (!reader.isOver) continue;
      response.body.dropRest?.();
      return;
    }
  }
  reader.end();
  yield reader.takePiece();
}
