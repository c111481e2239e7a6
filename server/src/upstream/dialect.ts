import type { Upstream } from "../catalog/catalog.ts";
import type { DialectSettings } from "../catalog/catalog-file.ts";
import type { Failure } from "../errors/failure.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { RequestSignal } from "./request-signal.ts";
import type { Transport } from "./transport.ts";

/** A kind of upstream, as a folder below this one exports it. */
export interface DialectDefinition extends DialectSettings {
  /** Called once, when the service starts. */
  readonly open: (parts: DialectParts) => Dialect;
}

export interface DialectParts {
  readonly transport: Transport;
  readonly now: () => Date;
}

/** Translates between OpenAI's wire format, which the gateway uses, and that of an upstream. */
export interface Dialect {
  /**
   * Sends a chat request and resolves once the upstream has accepted it.
   *
   * @throws {Failure} the request can't be expressed in the dialect. Nothing was sent.
   * @throws {UpstreamRefused} the upstream refused or failed.
   * @throws {TransportError} no answer came.
   */
  chat(call: ChatCall): Promise<ChatAnswer>;
  /** Embeds texts. @throws as `chat`. */
  embed(call: UpstreamCall): Promise<WholeAnswer>;
}

/** An upstream answered with an error, or with a malformed response. */
export class UpstreamRefused extends Error {
  override readonly name = "UpstreamRefused";
  /** The HTTP status; 200 for a malformed response. */
  readonly status: number;
  /** The failure for the client. */
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
  /** Whether the client requested usage in its stream. The upstream is always asked for it. */
  readonly includeUsage: boolean;
  /** The tokens of each answer that are paid for. The upstream is never asked for more. `null`: the model is free. */
  readonly maxTokens: number | null;
}

export interface WholeAnswer {
  readonly kind: "whole";
  readonly body: string;
  readonly usage: Usage | null;
  /** The text of the answer, to count its tokens if the upstream does not. */
  readonly produced: () => TextTally;
  /** Fields of the request that the dialect's package has ignored, which was known too late to refuse them. */
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
      /** The usage that the upstream has reported so far. */
      readonly usage: () => Usage | null;
      /** The text received so far. */
      readonly produced: () => TextTally;
      /** The ignored fields, as of a whole answer. They are known once the first event has been received. */
      readonly ignored: () => readonly string[];
    };
