import type { Upstream } from "../catalog/catalog.ts";
import type { DialectSettings } from "../catalog/catalog-file.ts";
import type { Failure } from "../errors/failure.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { RequestSignal } from "./request-signal.ts";
import type { Transport } from "./transport.ts";

/** A kind of upstream: what a folder below this one exports. */
export interface DialectDefinition extends DialectSettings {
  /** Called once, when the service starts. */
  readonly open: (parts: DialectParts) => Dialect;
}

export interface DialectParts {
  readonly transport: Transport;
  readonly now: () => Date;
}

/** How one kind of upstream is spoken to. The gateway's side of it is always OpenAI's wire format. */
export interface Dialect {
  /**
   * Sends a chat request and resolves once the upstream has accepted it.
   *
   * @throws {Failure} the request can't be expressed; nothing was sent.
   * @throws {UpstreamRefused} the upstream refused or failed.
   * @throws {TransportError} no answer came.
   */
  chat(call: ChatCall): Promise<ChatAnswer>;
  /** Embeds texts. @throws as `chat`. */
  embed(call: UpstreamCall): Promise<WholeAnswer>;
}

/** An upstream answered with an error, or with something that is no answer. */
export class UpstreamRefused extends Error {
  override readonly name = "UpstreamRefused";
  /** HTTP status that it answered; 200 for an answer that makes no sense. */
  readonly status: number;
  /** What it means for our client. */
  readonly failure: Failure;

  constructor(status: number, failure: Failure) {
    super(`the upstream answered ${status}`);
    this.status = status;
    this.failure = failure;
  }
}

export interface UpstreamCall {
  readonly upstream: Upstream;
  /** The model's name at the upstream. */
  readonly upstreamModel: string;
  /** The model's id in the catalog: what the answer calls it. */
  readonly publicModel: string;
  /** The client's body, unknown fields included. */
  readonly body: JsonBody;
  /** Aborting it ends the request at the upstream at once. */
  readonly signal: RequestSignal;
}

export interface ChatCall extends UpstreamCall {
  readonly stream: boolean;
  /** Whether the client asked for usage on its stream. We always ask, and hide it again. */
  readonly includeUsage: boolean;
  /** How long an answer is paid for, which what is asked of the upstream must not exceed; `null`: it costs nothing. */
  readonly maxTokens: number | null;
}

export interface WholeAnswer {
  readonly kind: "whole";
  readonly body: string;
  readonly usage: Usage | null;
  /** The text of the answer, to count tokens by where the upstream does not tell. */
  readonly produced: () => TextTally;
  /** Fields of the request that turned out, too late to refuse them, not to have reached the upstream. */
  readonly ignored: readonly string[];
}

export type ChatAnswer =
  | WholeAnswer
  | {
      readonly kind: "stream";
      /**
       * Server-sent events for the client, without the closing `[DONE]`. Throws a failure or {@link TransportError}
       * when the upstream stops without a finish.
       */
      readonly events: AsyncIterable<string>;
      /** What the upstream has told so far. */
      readonly usage: () => Usage | null;
      /** The text that has come so far. */
      readonly produced: () => TextTally;
      /** As of a whole answer; known once the first event is in. */
      readonly ignored: () => readonly string[];
    };
