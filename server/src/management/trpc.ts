import { initTRPC, TRPCError } from "@trpc/server";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { ZodError } from "zod";
import { ERROR_CODES } from "../../../sdk/src/contract/error-codes.ts";
import {
  MAX_BATCHED_CALLS,
  readProcedureData,
  UnreadableData,
  writeProcedureData,
} from "../../../sdk/src/contract/procedure-data.ts";
import type { Session } from "../accounts/sign-in.ts";
import type { ClientInfo, User } from "../accounts/user.ts";
import type { AccountId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { Reader, ReaderName } from "../database/reads.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import { messageOf } from "../errors/issue-message.ts";
import type { RequestSignal } from "../errors/request-signal.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { notSignedIn, ownerOf, type RpcCaller } from "./caller.ts";
import type { ProcedureMeta } from "./calls.ts";
import { EncodedAnswer, type EncodedAnswers } from "./encoded-answers.ts";

/** The context of a call: its caller, and access to the session cookie. */
export interface RpcContext {
  readonly requestId: string;
  readonly caller: RpcCaller;
  readonly clientInfo: ClientInfo;
  /** Encodes the answers of queries and mutations; `null`: the answer is wanted as it is. */
  readonly answers: EncodedAnswers | null;
  /** Aborted when the client has gone. */
  readonly signal: RequestSignal;
  /** For long calls. @throws when the caller's credential is no longer valid. */
  readonly requireSameCaller: () => Promise<void>;
  readonly sessionCookie: {
    set(session: Session): void;
    clear(): void;
  };
}

/** The maximum of dates, bigints and `undefined`s in one input. Inputs have a handful. */
const MAX_TYPED_VALUES = 1_000;
/** Messages may quote the input, such as unknown fields, up to this length. */
const MAX_MESSAGE_LENGTH = 500;

const TRPC_CODES = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  402: "PAYMENT_REQUIRED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "METHOD_NOT_SUPPORTED",
  408: "TIMEOUT",
  409: "CONFLICT",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  422: "UNPROCESSABLE_CONTENT",
  429: "TOO_MANY_REQUESTS",
  500: "INTERNAL_SERVER_ERROR",
  502: "BAD_GATEWAY",
  503: "SERVICE_UNAVAILABLE",
  504: "GATEWAY_TIMEOUT",
} as const;

/** The one place that turns failures into tRPC errors. */
export function toTrpcError(failure: Failure): TRPCError {
  const status = failure.status as keyof typeof TRPC_CODES;
  return new TRPCError({
    code: TRPC_CODES[status] ?? "INTERNAL_SERVER_ERROR",
    message: failure.message,
    cause: failure,
  });
}

/** The failure behind an error of tRPC: ours, a refused input, or one of its own (no such procedure, bad JSON). */
export function failureOf(error: TRPCError): Failure {
  if (error.cause instanceof Failure) return error.cause;
  if (error.cause instanceof UnreadableData) {
    return new Failure("invalid_request", `input: ${error.cause.message}`, { param: "input" });
  }
  if (error.cause instanceof ZodError) return failureOfInput(error.cause);
  switch (error.code) {
    case "NOT_FOUND":
      return new Failure(
        "not_found",
        "No such procedure exists. The types of the package ostiary list all of them.",
      );
    case "METHOD_NOT_SUPPORTED":
      return new Failure("method_not_allowed", "Call queries with GET or POST, mutations with POST.");
    case "UNSUPPORTED_MEDIA_TYPE":
      return new Failure("unsupported_media_type", "Send `content-type: application/json`.");
    case "PARSE_ERROR":
      return new Failure(
        "invalid_json",
        "The body is not valid JSON. Check it with a JSON validator and send it again.",
      );
    case "BAD_REQUEST":
      return new Failure(
        "invalid_request",
        `The call is not a valid tRPC call. A batch has at most ${MAX_BATCHED_CALLS} calls, all queries or all mutations.`,
      );
    default:
      return toFailure(error.cause);
  }
}

/** Callers choose field names, so a key in the place of one must not be returned. */
export function failureOfInput({ issues: [issue] }: ZodError): Failure {
  if (issue === undefined) return new Failure("invalid_request", "The input is not valid.");
  const param = withoutSecrets(issue.path.join(".")).slice(0, MAX_MESSAGE_LENGTH);
  const message = withoutSecrets(`${param || "input"}: ${messageOf(issue)}`).slice(0, MAX_MESSAGE_LENGTH);
  return new Failure("invalid_request", message, param === "" ? {} : { param });
}

const t = initTRPC
  .context<RpcContext>()
  .meta<ProcedureMeta>()
  .create({
    transformer: {
      serialize: (answer: unknown) =>
        answer instanceof EncodedAnswer ? answer.mark : writeProcedureData(answer),
      deserialize: (data: unknown) => readProcedureData(data, { maxTypedValues: MAX_TYPED_VALUES }),
    },
    // Proxies close connections that are silent for about a minute. Clients reconnect and resume.
    sse: { ping: { enabled: true, intervalMs: 15_000 }, client: { reconnectAfterInactivityMs: 40_000 } },
    // `false` outside of development, too: stack traces never go to a client.
    isDev: false,
    errorFormatter: ({ shape, error, ctx }) => {
      const failure = failureOf(error);
      return {
        ...shape,
        /** The JSON-RPC code that tRPC has for the error. */
        code: shape.code,
        /** What went wrong, and what to do next. */
        message: failure.message,
        /** The details of the error. */
        data: {
          ...shape.data,
          /** The name that tRPC has for the error. */
          code: shape.data.code,
          // The procedure that was asked for, as it was asked for.
          ...(shape.data.path === undefined ? {} : { path: withoutSecrets(shape.data.path) }),
          ...detailsOf(failure, ctx?.requestId ?? null),
        },
      };
    },
  });

/** The parts of an error that are the service's own. */
function detailsOf(failure: Failure, requestId: string | null) {
  const { status, type } = ERROR_CODES[failure.code];
  return {
    /** The HTTP status. */
    httpStatus: status,
    /** The error, as the HTTP API writes it. */
    ostiary: {
      /** The error code, such as `not_found`. */
      code: failure.code,
      /** The class of the error, such as `invalid_request_error`. */
      type,
      /** The path of the input's field that is at fault; `null`: none. */
      param: failure.param,
      /** The id of the request, also in `x-request-id`; `null` if the call was refused before it had one. */
      requestId,
    },
  };
}

/** The error of a request that was refused as a whole, as tRPC would write it. */
export function shapeOf(failure: Failure, requestId: string) {
  const { code } = toTrpcError(failure);
  const data = { code, ...detailsOf(failure, requestId) };
  return { message: failure.message, code: TRPC_ERROR_CODES_BY_KEY[code], data };
}

export const router = t.router;

/** Open to everyone. Failures of the domain become tRPC errors with the same code. */
export const publicProcedure = t.procedure.use(async ({ ctx: { answers }, type, next }) => {
  const result = await next();
  if (!result.ok && result.error.cause instanceof Failure) throw toTrpcError(result.error.cause);
  if (!result.ok || answers === null || type === "subscription") return result;
  return { ...result, data: await answers.encode(result.data) };
});

/** For what API keys may read of their account, as its users and their management tokens may. */
export const accountReadProcedure = publicProcedure.meta({ takesKeys: true }).use(({ ctx, next }) => {
  const { caller } = ctx;
  const { id } = caller.kind === "key" ? caller.permission.snapshot.account : callingOwner(caller).account;
  return next({ ctx: { accountId: id, reader: { name: readerNameOf(caller, id), signal: ctx.signal } } });
});

/**
 * For changing an account, and for reading what was done by its users. API keys are refused, so that a leaked key can neither mint its own
 * successor nor learn about the users.
 */
export const accountProcedure = publicProcedure.use(({ ctx, next }) => {
  const { user, account } = callingOwner(ctx.caller);
  const reader = { name: readerNameOf(ctx.caller, account.id), signal: ctx.signal };
  return next({ ctx: { accountId: account.id, reader, user, actor: actorOf(ctx, user) } });
});

/** Requires a session. For calls by which a leaked management token could outlive its revocation. */
export const sessionProcedure = publicProcedure.use(({ ctx, next }) => {
  const { caller } = ctx;
  if (caller.kind === "management-token" || caller.kind === "key") {
    throw new Failure("permission_denied", "This requires a session. Sign in to the dashboard to do it.");
  }
  if (caller.kind === "anonymous") throw notSignedIn();
  const { user } = caller.signedIn;
  return next({ ctx: { user, sessionId: caller.id, signedIn: caller.signedIn, actor: actorOf(ctx, user) } });
});

/** For operators and their management tokens. */
export const operatorProcedure = publicProcedure.use(({ ctx, next }) => {
  const { caller } = ctx;
  if (caller.kind === "anonymous") throw notSignedIn();
  if (caller.kind === "key" || caller.signedIn.role !== "operator") {
    throw new Failure(
      "permission_denied",
      "This requires an operator. Sign in as one, or use the management token of one.",
    );
  }
  const reader: Reader = { name: "operators", signal: ctx.signal };
  return next({ ctx: { reader, actor: actorOf(ctx, caller.signedIn.user) } });
});

/** People have a budget of their own for reads, which the account's keys and tokens cannot spend. */
export function readerNameOf({ kind }: RpcCaller, accountId: AccountId): ReaderName {
  return kind === "session" ? `people of ${accountId}` : accountId;
}

/** The owner behind a call. @throws {Failure} for any other caller. */
export function callingOwner(caller: RpcCaller): ReturnType<typeof ownerOf> {
  if (caller.kind === "anonymous") throw notSignedIn();
  if (caller.kind === "key") throw keyRefused();
  return ownerOf(caller.signedIn);
}

/** The refusal of an API key by a procedure that takes none. */
export function keyRefused(): Failure {
  return new Failure(
    "permission_denied",
    "An API key cannot do this. Use a management token, or sign in to the dashboard.",
  );
}

function actorOf({ caller, clientInfo }: RpcContext, user: User): Actor {
  const managementToken = caller.kind === "management-token" ? caller.id : null;
  return { userId: user.id, managementToken, sourceIp: clientInfo.sourceIp };
}
