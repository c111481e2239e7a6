import { chatUsageOf } from "../../conversation/chat-format.ts";
import { CHAT_CONTROL_EVENTS, LAST_CHUNK } from "../../conversation/control-events.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { arrayOf } from "../../json/members.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { addProduced, type Usage } from "../../tokens/token-estimate.ts";
import type { ForwardCall, StreamedAnswer } from "../dialect.ts";
import { oneLine } from "../event-json.ts";
import { type EventForwarder, forwardedEvents } from "../forward-events.ts";
import { incompleteAnswer } from "../read-answer.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import type { ResponseBody } from "../transport.ts";
import { ChunkEditor, type EditedChunk } from "./chunk-editor.ts";
import { hasError, refusedCompletion } from "./failed-completion.ts";
import { finishReasonOf, hasFailure } from "./finish-reason.ts";
import { readUsage, readUsageSoFar, usageIn } from "./usage.ts";
import { type TextChunk, UsualChunk } from "./usual-chunk.ts";

const DONE = "[DONE]";

/** A streamed answer, with its chunks edited for the client. */
export function streamedAnswer(call: ForwardCall, body: ResponseBody): StreamedAnswer {
  const chunks = new ChunkForwarder(call);
  return {
    kind: "stream",
    events: forwardedEvents(body, chunks),
    last: (usage) => chunks.usageChunk(usage) + LAST_CHUNK,
    controlEvents: CHAT_CONTROL_EVENTS,
    usage: () => chunks.usage,
    usageSoFar: () => chunks.usageSoFar,
    produced: () => chunks.produced,
    ignored: () => [],
  };
}

/** The maximum number of kinds of chunks that are tried as usual ones: see {@link UsualChunk}. Some servers make each chunk different. */
const MAX_KINDS = 8;

/** Edits an upstream's chunks for the client, and collects usage and text. */
class ChunkForwarder implements EventForwarder {
  readonly sendsFirstAhead = true;
  readonly produced = new TextTally();
  usageSoFar: Usage | null = null;
  #usage: Usage | null = null;
  /** Whether the upstream has sent `[DONE]`. */
  isDone = false;
  /** Whether the stream has had a choice. */
  #hasChoice = false;
  /** Whether some choice has finished. */
  #isFinished = false;
  /** Whether some choice has ended because the provider has failed. */
  #hasFailed = false;
  readonly #includesUsage: boolean;
  readonly #model: string;
  /** The members that all chunks have alike, from the first of them. */
  #identity: JsonObject | null = null;
  readonly #editor: ChunkEditor;
  /** The kind of the last chunk that could be one of several that differ in their text alone. */
  #usual: UsualChunk | null = null;
  #kinds = 0;

  /** Whether the request has one answer. The usage of one choice is not that of several. */
  readonly #hasOneChoice: boolean;

  constructor({ publicModel, request: { includeUsage, body } }: ForwardCall) {
    this.#includesUsage = includeUsage;
    this.#model = publicModel;
    this.#hasOneChoice = (body.value.n ?? 1) === 1;
    this.#editor = new ChunkEditor(publicModel, !includeUsage);
  }

  /** What was reported before the finish may be that of the prompt alone. */
  get usage(): Usage | null {
    return this.isDone || this.#isFinished ? this.#usage : null;
  }

  /** The client's event for a chunk; empty for a chunk of usage that the client did not request. */
  forward(data: string): string {
    if (data === DONE) {
      this.isDone = true;
      this.#requireAnswer();
      return "";
    }
    const usual = this.#usual?.read(data) ?? null;
    if (usual !== null) {
      this.produced.add(usual.produced);
      return usual.event;
    }
    const chunk = this.#editor.edit(data);
    if (chunk === null) throw malformedResponse();
    const { value } = chunk;
    const usage = this.#usageIn(value);
    this.usageSoFar = readUsageSoFar(usage) ?? this.usageSoFar;
    this.#usage = readUsage(usage) ?? this.#usage;
    if (hasError(value)) throw refusedCompletion(value, data);
    if (this.#includesUsage) this.#identity ??= { id: value.id, created: value.created };
    addProduced(value.choices, this.produced);
    this.#hasChoice ||= arrayOf(value.choices).length > 0;
    this.#isFinished ||= hasFinish(value);
    this.#hasFailed ||= hasFailure(value.choices);
    const isHidden = !this.#includesUsage && "usage" in value;
    if (isHidden && Array.isArray(value.choices) && value.choices.length === 0) return "";
    if (this.#kinds < MAX_KINDS) {
      this.#kinds++;
      this.#usual = UsualChunk.like(data, (like) => this.#readText(like)) ?? this.#usual;
    }
    return eventOf(chunk);
  }

  /** Reads a chunk that has nothing but text, by parsing it. */
  #readText(data: string): TextChunk | null {
    const chunk = this.#editor.edit(data);
    if (chunk === null) return null;
    const { value } = chunk;
    const hasUsage = readUsageSoFar(this.#usageIn(value)) !== null;
    if (hasError(value) || hasUsage || hasFinish(value)) return null;
    const produced = new TextTally();
    addProduced(value.choices, produced);
    return { produced: produced.beginning(), event: eventOf(chunk) };
  }

  #usageIn(chunk: JsonObject): unknown {
    return this.#hasOneChoice ? usageIn(chunk) : chunk.usage;
  }

  /** The chunk that tells the usage to a client that asked for it, if the upstream has told none. `usage`: as the service has counted it. */
  usageChunk(usage: Usage): string {
    if (!this.#includesUsage || this.#usage !== null) return "";
    const head = { ...this.#identity, object: "chat.completion.chunk", model: this.#model };
    return `data: ${JSON.stringify({ ...head, choices: [], usage: chatUsageOf(usage) })}\n\n`;
  }

  /** Without `[DONE]` the stream is complete only if some choice has finished. */
  end(): void {
    this.#requireAnswer();
    if (!this.#isFinished) throw incompleteAnswer("a finish");
  }

  /** Called at the end of the stream, because the usage may come after the finish reason. */
  #requireAnswer(): void {
    if (this.#hasFailed) throw refusalOf(500, "").reporting(this.usageSoFar);
    if (this.isDone && !this.#hasChoice) throw malformedResponse().reporting(this.usageSoFar);
  }
}

function eventOf({ text }: EditedChunk): string {
  return `data: ${oneLine(text)}\n\n`;
}

function hasFinish(chunk: JsonObject): boolean {
  return arrayOf(chunk.choices).some((choice) => isJsonObject(choice) && finishReasonOf(choice) !== null);
}
