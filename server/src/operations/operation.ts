import type { Permission } from "../access/access.ts";
import type { ClientInfo } from "../accounts/user.ts";
import type { AccountId } from "../contract/account.ts";
import type { UsageSource } from "../contract/entry.ts";
import type { KeptAnswer } from "../contract/kept-answer.ts";
import type { ControlEvents } from "../conversation/wire.ts";
import type { PaidCall } from "../credits/request-cost.ts";
import type { Failure } from "../errors/failure.ts";
import type { CausedSignal, RequestSignal } from "../errors/request-signal.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import type { JsonBody } from "../json/json-body.ts";
import { NO_USAGE, type Usage } from "../tokens/token-estimate.ts";
import type { AnswerMemory } from "../upstream/answer-memory.ts";
import type { OperationDescription } from "./openapi-parts.ts";

/** What a request authenticates with. */
export type AuthMode =
  | "key"
  | "key-or-management-token"
  /** The session of a person at the dashboard, for their account. */
  | "session"
  /** A session, with the id of one of the account's keys: the request is made with that key. */
  | "session-as-key";

/** What all kinds of operations have. */
interface OperationBase {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path, as audit entries name it after the method. It has at most one parameter, in braces. */
  readonly path: string;
  /** Whether the path's parameter, which stands last, may contain slashes. */
  readonly parameterSpansSlashes?: true;
  /**
   * Describes the operation for the OpenAPI document; `null` for operations that are not part of the public API. It is not called at start, because
   * writing the schemas of all inputs would take a thirtieth of the start.
   */
  readonly openapi: (() => OperationDescription) | null;
}

/** An operation for everyone. If a key is sent with the request, it decides in which account's log the request is recorded, and nothing else. */
export interface PublicOperation extends OperationBase {
  readonly kind: "public";
  /** @throws {Failure} */
  run(): Promise<Reply>;
}

/** An operation on what is stored for an account. It has no body, and costs nothing. */
export interface QueryOperation<Input> extends OperationBase {
  readonly kind: "query";
  readonly auth: AuthMode;
  /** @throws {Failure} `invalid_request` when the parameters are not valid. */
  read(source: QuerySource): Input;
  /** @throws {Failure} */
  run(call: QueryCall<Input>): Promise<Reply>;
}

/** An operation that manages the account with a procedure. It has limits of its own, and costs nothing. */
export interface ManagementOperation extends OperationBase {
  readonly kind: "management";
  readonly auth: "key-or-management-token";
  readonly maxBodyBytes: number;
  /** @throws {Failure} */
  run(call: ManagementCall): Promise<Reply>;
}

/** An operation that calls a model with a JSON body: it is limited, charged, and repeated by its idempotency key. */
export interface ModelOperation<Input extends ModelUse> extends OperationBase {
  readonly kind: "model";
  readonly auth: "key" | "session-as-key";
  readonly maxBodyBytes: number;
  /** Members of the body that bound how many tokens the answer may have. The largest of them counts. */
  readonly outputTokenFields: readonly string[];
  /** The member of the body that says how many answers are asked for. Absent: each request has one. */
  readonly answersField?: string;
  /**
   * Whether no model is asked: a request costs nothing, whatever the model's prices, and the limit on tokens does not apply to it.
   * Absent: it costs what it takes.
   */
  readonly isFree?: true;
  /** The control events of a replayed stream; `null` for operations without streams. */
  readonly controlEvents: ControlEvents | null;
  /** Checks the body alone. @throws {Failure} `invalid_request` naming the field. */
  read(body: JsonBody): Input;
  /**
   * Loads the stored responses and items that the request refers to. The model stays the same. It is not called for a retry with an idempotency key,
   * because what the request refers to may have been deleted since. Absent: requests refer to nothing.
   *
   * @throws {Failure} `not_found`; `request_too_large`; `invalid_request` naming the field.
   */
  loadStored?(input: Input, accountId: AccountId): Promise<Input>;
  /**
   * Forwards the request.
   *
   * @throws {Failure} when the request can't be expressed for the model.
   * @throws {RoutesFailed} when no upstream answered.
   */
  run(call: ModelCall<Input>): Promise<Reply>;
}

/** One operation of the API. An input is passed to the operation that has read it, and to no other. */
export type Operation =
  | PublicOperation
  | QueryOperation<unknown>
  | ManagementOperation
  | ModelOperation<ModelUse>;

export interface QuerySource {
  readonly query: URLSearchParams;
  /** The path's parameters, decoded. */
  readonly parameters: PathParameters;
  /** Every value of a header; `name` in lower case. */
  readonly header: (name: string) => readonly string[];
}

export type PathParameters = Readonly<Record<string, string>>;

/** A request that may be answered. */
export interface Call<Input> {
  readonly input: Input;
  readonly accountId: AccountId;
  /** Aborted when the answer is no longer needed: the client has disconnected, or the service stops. */
  readonly signal: RequestSignal;
}

/** A request for a query. */
export interface QueryCall<Input> extends Call<Input> {
  /** Rejects if the caller may no longer read, such as with a key that was revoked meanwhile. For answers that take long. */
  readonly requireAllowed: () => Promise<unknown>;
}

/** A request for a management operation. */
export interface ManagementCall extends QuerySource {
  readonly requestId: string;
  /** A key that may be used, or a management token that was not checked yet. */
  readonly credential:
    | { readonly kind: "key"; readonly permission: Permission }
    | { readonly kind: "management-token"; readonly token: string };
  readonly clientInfo: ClientInfo;
  /** `null` for a request without a body. */
  readonly body: JsonBody | null;
  /** See {@link Call.signal}. */
  readonly signal: RequestSignal;
}

export interface ModelCall<Input> extends Call<Input> {
  readonly signal: CausedSignal;
  readonly body: JsonBody;
  readonly exchange: {
    readonly query: URLSearchParams;
    /** Every value of a header; `name` in lower case. */
    header(name: string): readonly string[];
  };
  readonly paid: PaidCall;
  /** For the answer of the upstream. */
  readonly memory: AnswerMemory;
  /** When the request came in, by the clock that never jumps. */
  readonly startedMs: number;
}

/** The fields of a request for a model that affect limits and credit. */
export interface ModelUse {
  /** A model's id or alias, as the client wrote it. */
  readonly model: string;
  /** Maximum tokens of each answer; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  readonly choices: number;
  /** Texts that the model reads apart from each other: 1, except for embeddings. */
  readonly prompts: number;
  readonly images: number;
  readonly files: number;
  /** Bytes that the model reads besides the body: the stored items that the request refers to. Absent: 0. */
  readonly storedBytes?: number;
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

/** An operation's answer. Its entry is recorded before its last byte is sent. */
export type Reply = WholeReply | StreamReply;

export interface WholeReply {
  readonly kind: "whole";
  readonly headers: ResponseHeaders;
  readonly body: string;
  readonly facts: EntryFacts;
  /** Whether all clients are sent this same text, so that its compressed form is worth keeping. */
  readonly isShared?: boolean;
}

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
