import type { Permission } from "../access/access.ts";
import type { AcceptedCredential } from "../access/bearer.ts";
import type { ClientInfo } from "../accounts/user.ts";
import type { AccountId } from "../contract/account.ts";
import type { PaidCall } from "../credits/request-cost.ts";
import type { CausedSignal, RequestSignal } from "../errors/request-signal.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { AnswerMemory } from "../upstream/answer-memory.ts";
import type { OperationDescription } from "./openapi-parts.ts";
import type { Reply } from "./reply.ts";

/** What a request authenticates with. */
export type AuthMode =
  | AcceptedCredential
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
interface Call<Input> {
  readonly input: Input;
  readonly accountId: AccountId;
  /** Aborted when the answer is no longer needed: the client has disconnected, or the service stops. */
  readonly signal: RequestSignal;
}

/** A request for a query. */
interface QueryCall<Input> extends Call<Input> {
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
