import type { AccountId } from "../accounts/account.ts";
import type { EndReason, UsageSource } from "../audit/entry.ts";
import type { Hold } from "../credits/allowance.ts";
import type { Failure } from "../errors/failure.ts";
import type { RequestSignal } from "../gateway/request-signal.ts";
import type { Claim, KeptAnswer } from "../idempotency/idempotency.ts";
import type { Usage } from "../upstream/dialect.ts";
import type { Exchange, ResponseHeaders } from "./exchange.ts";

/** What opens an endpoint. */
export type OpenedBy =
  | "anyone"
  | "key"
  | "key-or-management-token"
  /** That of a person at the dashboard, for their account. */
  | "session"
  /** The same, with the id of one of the account's keys: the request is made as that key. */
  | "session-as-key";

/** One operation of the request plane. */
export interface Endpoint {
  readonly method: "GET" | "POST";
  /** As audit entries name it: `POST /v1/chat/completions`. */
  readonly name: string;
  readonly openedBy: OpenedBy;
  /** `false` of what stands in the place of an endpoint that there is not. */
  readonly isServed?: false;
  /** The path, matched; `null` when it is not this endpoint's. The groups are the path's parameters. */
  match(path: string): PathParameters | null;
  /**
   * Answers a request whose caller is known.
   *
   * @throws {Failure} to be answered as such, with no facts beyond the caller.
   */
  answer(request: EndpointRequest): Promise<Reply>;
}

export type PathParameters = Readonly<Record<string, string>>;

export interface EndpointRequest {
  readonly exchange: Exchange;
  readonly parameters: PathParameters;
  /**
   * The whole body, whose bytes count among those that the account is sending until {@link releaseBody}.
   *
   * @throws {Failure} `request_too_large` beyond `maxBytes`, `request_timeout`, or when too much is being sent already.
   */
  readonly readBody: (maxBytes: number) => Promise<Uint8Array>;
  /** To be called when the request was admitted: from there on its concurrency slot bounds what it takes. */
  readonly releaseBody: () => void;
  /**
   * Decides whether the caller may pass, by the account's present state. To be called exactly once, when the
   * request is read and before anything is done for it.
   *
   * @param tokens what it is estimated to take of the account's limits; without it they do not bear on the request.
   * @returns the caller's account.
   */
  readonly confirm: (tokens?: number) => Promise<AccountId>;
  /**
   * To be called before a model is asked: from here on the request leaves an entry even if this process dies. The hold of
   * credit is settled when the request has ended, with what its facts say it cost.
   */
  readonly begin: (model: string, hold: Hold) => void;
  /**
   * The answer is to be finished even if its client leaves: it was claimed, and may be asked for again. The claim is
   * released when the request comes to nothing.
   */
  readonly runToCompletion: (claim: Claim) => void;
  /** Aborted when nobody waits for the answer any more: the client has gone, or the service stops. */
  readonly signal: RequestSignal;
  /** Milliseconds since the request came in. */
  readonly elapsedMs: () => number;
}

/** What there is to say about a request beyond who made it and how it was answered. */
export interface EntryFacts {
  readonly model: string | null;
  readonly upstream: string | null;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  readonly costNanoUsd: bigint;
  /** What the upstream reported beyond what the model can do: not part of the cost. */
  readonly implausibleNanoUsd?: bigint;
  readonly timeToFirstTokenMs: number | null;
  /** Of a request with an idempotency key: the answer to be kept, `null` where it is too long. */
  readonly kept?: KeptAnswer | null;
}

export const NO_FACTS: EntryFacts = {
  model: null,
  upstream: null,
  usage: null,
  usageSource: "none",
  costNanoUsd: 0n,
  timeToFirstTokenMs: null,
};

/** An endpoint's answer. Its entry is recorded before the last of it goes out. */
export type Reply =
  | {
      readonly kind: "whole";
      readonly headers: ResponseHeaders;
      readonly body: string;
      readonly facts: EntryFacts;
    }
  | {
      readonly kind: "stream";
      readonly headers: ResponseHeaders;
      readonly chunks: AsyncIterable<string | Uint8Array>;
      /** Tells the client that the stream is whole. */
      readonly lastChunk: string;
      /** How a failure is told: by an event of its own, or, where there are none, by breaking off. */
      readonly atFailure: "event" | "abort";
      /** What is known by now: asked for when the stream has ended, however it did. */
      readonly facts: () => Promise<EntryFacts>;
      /** What a failure of `chunks` means for the client. */
      readonly failureOf: (thrown: unknown) => Failure;
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly endReason: EndReason;
      readonly facts: EntryFacts;
    };

export const JSON_HEADERS: ResponseHeaders = { "content-type": "application/json" };
export const EVENT_STREAM_HEADERS: ResponseHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // nginx would hold the stream back until its buffer is full.
  "x-accel-buffering": "no",
};
