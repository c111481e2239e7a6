import { initTRPC, TRPCError } from "@trpc/server";
import superjson from "superjson";
import { ZodError } from "zod";
import { ERROR_CODES } from "../../../sdk/src/contract/error-codes.ts";
import type { AccountId, SignedIn } from "../accounts/account.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import type { KeySnapshot } from "../keys/key.ts";

/** Who calls a procedure, and how to answer beside its result. */
export interface RpcContext {
  readonly requestId: string;
  readonly session: { readonly token: string; readonly signedIn: SignedIn } | null;
  /** Set when the call came with an API key instead of a session. */
  readonly key: KeySnapshot | null;
  readonly sessionCookie: {
    set(token: string): void;
    clear(): void;
  };
}

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
  if (error.cause instanceof ZodError) {
    const [issue] = error.cause.issues;
    const param = issue?.path.join(".") ?? "";
    const message = issue === undefined ? "The input is not valid." : `${param || "input"}: ${issue.message}`;
    return new Failure("invalid_request", message, param === "" ? {} : { param });
  }
  switch (error.code) {
    case "NOT_FOUND":
      return new Failure("not_found", "There is no such procedure.");
    case "METHOD_NOT_SUPPORTED":
      return new Failure("method_not_allowed", "Call queries with GET or POST, mutations with POST.");
    case "UNSUPPORTED_MEDIA_TYPE":
      return new Failure("unsupported_media_type", "Send `content-type: application/json`.");
    case "PARSE_ERROR":
      return new Failure("invalid_json", "The body is not valid JSON.");
    case "BAD_REQUEST":
      return new Failure("invalid_request", "The call is not in the form of tRPC.");
    default:
      return toFailure(error.cause);
  }
}

const t = initTRPC.context<RpcContext>().create({
  transformer: superjson,
  // Outside development: stack traces never go to a client.
  isDev: false,
  errorFormatter: ({ shape, error, ctx }) => {
    const failure = failureOf(error);
    const { status, type } = ERROR_CODES[failure.code];
    return {
      ...shape,
      message: failure.message,
      data: {
        ...shape.data,
        httpStatus: status,
        ostiary: { code: failure.code, type, param: failure.param, requestId: ctx?.requestId ?? null },
      },
    };
  },
});

export const router = t.router;

/** Open to everyone. Failures of the domain become tRPC errors with the same code. */
export const publicProcedure = t.procedure.use(async ({ next }) => {
  const result = await next();
  if (!result.ok && result.error.cause instanceof Failure) throw toTrpcError(result.error.cause);
  return result;
});

/** For a user who is signed in. An API key is not enough: a leaked key must not mint its own successor. */
export const userProcedure = publicProcedure.use(({ ctx, next }) => {
  if (ctx.session === null) {
    if (ctx.key !== null) {
      throw toTrpcError(
        new Failure(
          "permission_denied",
          "An API key can only read. Sign in to the dashboard to change things.",
        ),
      );
    }
    throw toTrpcError(notSignedIn());
  }
  const { signedIn, token } = ctx.session;
  return next({ ctx: { user: signedIn.user, account: signedIn.account, sessionToken: token } });
});

/** For whoever may read an account: its users, and its API keys. */
export const accountReader = publicProcedure.use(({ ctx, next }) => {
  const accountId: AccountId | undefined = ctx.session?.signedIn.account.id ?? ctx.key?.account.id;
  if (accountId === undefined) throw toTrpcError(notSignedIn());
  return next({ ctx: { accountId } });
});

function notSignedIn(): Failure {
  return new Failure("not_signed_in", "Sign in first.");
}
