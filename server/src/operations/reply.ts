import type { UsageSource } from "../contract/entry.ts";
import type { KeptAnswer } from "../contract/kept-answer.ts";
import type { ControlEvents } from "../conversation/wire.ts";
import type { Failure } from "../errors/failure.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { NO_USAGE, type Usage } from "../tokens/token-estimate.ts";

/** An operation's answer. Its entry is recorded before its last byte is sent. */
export type Reply = WholeReply | StreamReply;

/** An answer that is sent as one text. */
export interface WholeReply {
  readonly kind: "whole";
  readonly headers: ResponseHeaders;
  readonly body: string;
  readonly facts: EntryFacts;
  /** Whether all clients are sent this same text, so that its compressed form is worth keeping. */
  readonly isShared?: boolean;
}

/** An answer that is sent piece by piece. */
export interface StreamReply {
  readonly kind: "stream";
  /** Whether the stream begins before its upstream has answered. */
  readonly isEarly?: boolean;
  readonly headers: ResponseHeaders;
  readonly chunks: AsyncIterable<string | Uint8Array>;
  /** What tells the client that the stream is complete; may be empty. Called after {@link facts}, at least once. */
  readonly last: () => string;
  /** `null`: the stream has no heartbeats, and a failure closes the connection early. */
  readonly controlEvents: ControlEvents | null;
  /** Asked for when the stream has ended, however it did. */
  readonly facts: () => Promise<EntryFacts>;
  /** What a failure of `chunks`, `facts` or `last` means for the client. */
  readonly failureOf: (thrown: unknown) => Failure;
}

/** What an audit entry says about an answer. */
export interface EntryFacts {
  readonly model: string | null;
  readonly upstream: string | null;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  readonly costNanoUsd: bigint;
  /** The tokens of the usage that count against the account's limit; `null` if the usage is not known. */
  readonly countedTokens: number | null;
  /** What the upstream reported beyond what the model can do: not part of the cost. */
  readonly implausibleNanoUsd: bigint;
  readonly timeToFirstTokenMs: number | null;
  /** The answer to be kept for a request with an idempotency key; `null` where it is too long. */
  readonly kept?: KeptAnswer | null;
}

/** The facts of a request that no model has answered. They are made in one place, because reading objects of one shape is faster. */
export function factsWithoutUsage(model: string | null, upstream: string | null = null): EntryFacts {
  return {
    model,
    upstream,
    usage: null,
    usageSource: "none",
    costNanoUsd: 0n,
    countedTokens: null,
    implausibleNanoUsd: 0n,
    timeToFirstTokenMs: null,
  };
}

export const NO_FACTS: EntryFacts = factsWithoutUsage(null);
/** The facts of an answer for which no model was asked: it costs nothing, and does not count against the limit on tokens. */
export const FREE_FACTS: EntryFacts = { ...NO_FACTS, usage: NO_USAGE, countedTokens: 0 };

export const JSON_HEADERS: ResponseHeaders = { "content-type": "application/json" };
export const EVENT_STREAM_HEADERS: ResponseHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // nginx would hold the stream back until its buffer is full.
  "x-accel-buffering": "no",
};
/** A stream that is silent for this long sends a heartbeat. */
export const HEARTBEAT_MS = 15_000;

/** A whole answer in JSON. */
export function jsonReply(value: unknown, facts: EntryFacts = NO_FACTS): WholeReply {
  return { kind: "whole", headers: JSON_HEADERS, body: JSON.stringify(value), facts };
}
