import type { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { PromptText, Usage } from "../tokens/token-estimate.ts";
import type { AnswerEvent } from "./answer.ts";
import type { Conversation } from "./conversation.ts";

/** The formats in which clients send requests to models: Chat Completions, the Responses API and the Messages API. */
export type WireName = "chat" | "responses" | "messages";

/** A valid request in the format of its client. */
export interface WireRequest {
  readonly wire: WireName;
  /** The body for an upstream of the same wire, unknown fields included. */
  readonly body: JsonBody;
  /** Members of the whole answer that the service decides, whatever an upstream of the same wire has there. */
  readonly owned?: JsonObject;
  /**
   * The maximum tokens of an answer that the service sets where credit covers the request only in part and the client has set none: upstreams
   * of the same wire have different fields for it. Absent or `null`: the body has what there is.
   */
  readonly ownLimit?: number | null;
  /** Headers for an upstream of the same wire, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The query for an upstream of the same wire, with its question mark. Absent: none. */
  readonly query?: string;
  /** Whether the answer is streamed. */
  readonly stream: boolean;
  /** Whether a stream of chat completion chunks ends with one for the usage. */
  readonly includeUsage: boolean;
  /** Of a stream that has to begin before the upstream answers. */
  readonly earlyControlEvents: ControlEvents;
  /** Reads the request. @throws {Failure} `invalid_request` naming what can't be translated. */
  conversation(): Conversation;
  /** What its model reads, for wires whose bodies the estimator does not know. */
  promptText?(): PromptText;
  /** Begins the answer to the client. */
  writer(head: AnswerHead): AnswerWriter | Promise<AnswerWriter>;
}

/** What all parts of one answer have in common. */
export interface AnswerHead {
  /** 32 hexadecimal digits, without the prefix that the wire has for its ids. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The present time in Unix seconds. */
  readonly now: () => number;
  /** The id of the model in the catalog. */
  readonly model: string;
}

/** Writes one answer for a client, event by event. */
export interface AnswerWriter extends ControlEvents {
  /** What a stream begins with; may be empty. Called once, before any event is written. */
  begin(): string;
  /** The text of a stream for an event; may be empty. */
  write(event: AnswerEvent): string;
  /** What completes a stream after its `finish` was written. `changes`: members of the whole answer that have changed since. */
  last(usage: Usage, changes: JsonObject): string;
  /** The whole answer as JSON, after its `finish` was written. */
  whole(usage: Usage): string;
  /** The whole answer as the service stores it; absent for wires whose answers are not stored. */
  stored?(usage: Usage): string;
}

/** The events of a stream beside its answer, in the format of its wire. */
export interface ControlEvents {
  /** Keeps a silent connection open. */
  heartbeat(): string;
  /** Ends a stream whose answer has failed, so that the client's library raises. */
  failure(failure: Failure): string;
}
