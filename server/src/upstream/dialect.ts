import type { Upstream } from "../catalog/catalog.ts";
import type { DialectSettings } from "../catalog/catalog-file.ts";
import type { AnswerPiece } from "../conversation/answer.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { ControlEvents, WireName, WireRequest } from "../conversation/wire.ts";
import type { Failure } from "../errors/failure.ts";
import type { RequestSignal } from "../errors/request-signal.ts";
import type { JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { AnswerMemory } from "./answer-memory.ts";
import type { Transport } from "./transport.ts";

/** A kind of upstream, as a folder below this one exports it. */
export interface DialectDefinition extends DialectSettings {
  /** Called once, when the service starts. */
  readonly open: (parts: DialectParts) => Dialect;
}

/** What a dialect needs to send requests. */
export interface DialectParts {
  readonly transport: Transport;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** How the service speaks to a kind of upstream. */
export interface Dialect {
  /**
   * The wire that the upstreams speak themselves: its requests and answers go through as they are. `null`: every request is
   * translated.
   */
  readonly own: OwnWire | null;
  /**
   * Sends a conversation and resolves once the upstream has accepted it.
   *
   * @throws {Failure} the conversation can't be expressed in the dialect. Nothing was sent.
   * @throws {UpstreamRefused} the upstream refused or failed.
   * @throws {TransportError} no answer came.
   */
  converse(call: ConversationCall): Promise<ConversationAnswer>;
  /** Embeds texts. @throws as `converse`. */
  embed(call: EmbedCall): Promise<WholeAnswer>;
}

/** The wire that a kind of upstream speaks itself, whose requests are forwarded without a translation. */
interface OwnWire {
  readonly wire: WireName;
  /**
   * Forwards a request of the wire. The answer is one to a conversation where the upstream was asked for a stream and has given a whole answer.
   *
   * @throws as {@link Dialect.converse}.
   */
  forward(call: ForwardCall): Promise<WireAnswer | ConversationAnswer>;
}

/** An upstream answered with an error, or with a malformed response. */
export class UpstreamRefused extends Error {
  override readonly name = "UpstreamRefused";
  /** The HTTP status; 200 for a malformed response. */
  readonly status: number;
  /** The failure for the client. */
  readonly failure: Failure;
  /** The usage that the upstream has reported with the failure; `null`: none. */
  readonly usage: Usage | null;

  constructor(status: number, failure: Failure, usage: Usage | null = null) {
    super(status === 200 ? "the upstream's answer is malformed" : `the upstream answered ${status}`);
    this.status = status;
    this.failure = failure;
    this.usage = usage;
  }

  /** A copy of this refusal with a usage. */
  reporting(usage: Usage | null): UpstreamRefused {
    return new UpstreamRefused(this.status, this.failure, usage);
  }
}

/** The error, with the usage that the upstream has reported with an answer that then could not be read or written. It is charged. */
export function withUsage(error: unknown, usage: Usage | null): unknown {
  return error instanceof UpstreamRefused && error.usage === null ? error.reporting(usage) : error;
}

/** What every request to an upstream has, whatever it asks for. */
export interface UpstreamCall {
  readonly upstream: Upstream;
  /** The model's name at the upstream. */
  readonly upstreamModel: string;
  /** The model's id in the catalog: what the answer calls it. */
  readonly publicModel: string;
  /** Aborting it ends the request at the upstream at once. */
  readonly signal: RequestSignal;
  /** For the answer. Absent: it is not limited. */
  readonly memory?: AnswerMemory | undefined;
}

/** A request for embeddings. */
export interface EmbedCall extends UpstreamCall {
  /** The client's body, unknown fields included. */
  readonly body: JsonBody;
}

interface AnswerCall extends UpstreamCall {
  /**
   * The tokens of each answer that are paid for. The upstream is never asked for more. `null`: the model is free, or an answer as long as its
   * context is paid for.
   */
  readonly maxTokens: number | null;
}

/** A request of the upstream's own wire, to be forwarded. */
export interface ForwardCall extends AnswerCall {
  readonly request: WireRequest;
}

/** A request of another wire, to be translated from its conversation. */
export interface ConversationCall extends AnswerCall {
  readonly conversation: Conversation;
  readonly stream: boolean;
}

/** An answer that is to be written in a client's format. */
export interface ConversationAnswer {
  /**
   * The events of the answer; those that one piece from the upstream contains come together. Throws a failure, {@link UpstreamRefused} or {@link TransportError}
   * when the upstream stops without a finish.
   */
  readonly events: AsyncIterable<AnswerPiece> | Iterable<AnswerPiece>;
  /** Fields of the request that were ignored, which was known too late to refuse them. */
  readonly ignored: readonly string[];
}

export interface WholeAnswer {
  readonly kind: "whole";
  readonly body: string;
  /** `null`: the upstream has reported none. */
  readonly usage: Usage | null;
  /** The service's own count, if the body tells it because the upstream has reported none. */
  readonly counted?: Usage;
  /** The text of the answer, to count its tokens if the upstream does not. */
  readonly produced: () => TextTally;
  /** Fields of the request that were ignored, which was known too late to refuse them. */
  readonly ignored: readonly string[];
  /** The number of the request's images that the upstream got. Absent: all. */
  readonly images?: number;
  /** The answer as the service stores it, in JSON; absent where that is the body. */
  readonly stored?: () => string;
  /** Members of the body that tell an estimated usage, for wires whose clients need one. */
  readonly estimated?: (usage: Usage) => JsonObject;
}

export interface StreamedAnswer {
  readonly kind: "stream";
  /**
   * Server-sent events for the client, without what completes the stream. Throws a failure or {@link TransportError}
   * when the upstream stops without a finish.
   */
  readonly events: AsyncIterable<string>;
  /**
   * What completes the stream: its last event, which tells the client that it has the whole answer. `changes`: members of the whole
   * answer that have changed since.
   */
  readonly last: (usage: Usage, changes: JsonObject) => string;
  readonly controlEvents: ControlEvents;
  /** The usage of the whole answer; `null`: the upstream has not reported it, or not finished. */
  readonly usage: () => Usage | null;
  /** What the upstream has reported so far, for those that report before the end. Asked for if {@link usage} is unknown. */
  readonly usageSoFar?: () => Usage | null;
  /** The text received so far. */
  readonly produced: () => TextTally;
  /** The ignored fields, as of a whole answer. They are known once the first event has been received. */
  readonly ignored: () => readonly string[];
  /** As {@link WholeAnswer.images}. */
  readonly images?: number;
  /** The answer as the service stores it, in JSON; absent for wires whose answers are not stored. Asked for after the events. */
  readonly stored?: (usage: Usage) => string;
}

/** An answer in the format of its client. */
export type WireAnswer = WholeAnswer | StreamedAnswer;
