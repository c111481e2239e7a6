import {
  httpBatchLink,
  type Operation,
  type OperationLink,
  TRPCClientError,
  type TRPCLink,
} from "@trpc/client";
import type {
  inferRouterInputs,
  inferRouterOutputs,
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from "@trpc/server";
import { type Observable, observable } from "@trpc/server/observable";
import type { ClientOptions } from "./client.ts";
import { clientTransformer, MAX_BATCHED_CALLS } from "./contract/procedure-data.ts";
import type { ProcedureError, Procedures } from "./contract/procedures.ts";
import { forwardAbort } from "./core/abort.ts";
import { errorFor, errorForEvent, notFromService } from "./core/error-answers.ts";
import { APIError, OstiaryError } from "./core/errors.ts";
import { missingToken, prefixOf, refuseBrowsers, secretOf, transportOf } from "./core/settings.ts";
import { subscriptionSteps } from "./core/subscription.ts";
import type { Transport } from "./core/transport.ts";

export type { Procedure, ProcedureError, Procedures } from "./contract/procedures.ts";

/** The root types of the router. Its context and metadata stay in the server. */
interface Root {
  readonly ctx: object;
  readonly meta: object;
  readonly errorShape: ProcedureError;
  readonly transformer: true;
}

interface ProcedureTypes<Called extends { readonly input: unknown }, Output> {
  readonly meta: unknown;
  readonly input: Called["input"];
  readonly output: Output;
  readonly errorShape: ProcedureError;
}

/** A table of procedures in the form that tRPC's types read. */
type RouterRecordOf<Table> = {
  [Name in keyof Table]: Table[Name] extends {
    readonly kind: infer Kind;
    readonly input: unknown;
    readonly output: infer Output;
  }
    ? Kind extends "query"
      ? TRPCQueryProcedure<ProcedureTypes<Table[Name], Output>>
      : Kind extends "mutation"
        ? TRPCMutationProcedure<ProcedureTypes<Table[Name], Output>>
        : TRPCSubscriptionProcedure<ProcedureTypes<Table[Name], AsyncIterable<Output, void, unknown>>>
    : RouterRecordOf<Table[Name]>;
};

/**
 * The router of the management API, for tRPC's own clients. Dates are `Date`s, and amounts of nano-USD are `bigint`s.
 *
 * @example
 * ```ts
 * import { createTRPCClient } from "@trpc/client";
 * import { type AppRouter, ostiaryLink } from "ostiary/trpc";
 *
 * const trpc = createTRPCClient<AppRouter>({ links: [ostiaryLink()] });
 * const { keys } = await trpc.keys.list.query();
 * console.log(keys.length);
 * ```
 */
export type AppRouter = TRPCBuiltRouter<Root, RouterRecordOf<Procedures>>;

/** The input of each procedure: `RouterInputs["keys"]["create"]`. */
export type RouterInputs = inferRouterInputs<AppRouter>;

/** The output of each procedure: `RouterOutputs["keys"]["list"]`. */
export type RouterOutputs = inferRouterOutputs<AppRouter>;

/** Options of {@link ostiaryLink}. */
export interface OstiaryLinkOptions extends ClientOptions {
  /** The maximum number of calls in one request, 1 to 20. Calls made in the same tick are sent together. Default 20. */
  readonly maxBatchSize?: number | undefined;
}

/**
 * A link for `createTRPCClient<AppRouter>()` and TanStack Query. It authenticates with the management token (or, for procedures
 * that only read, the API key), sends calls of one tick together, retries as the client does, and reads subscriptions. The `cause`
 * of a `TRPCClientError` is the client's own error, such as `RateLimitError`.
 *
 * @throws {OstiaryError} there is neither a token nor a key, an option is not valid, or this is a browser or an app.
 */
export function ostiaryLink(options: OstiaryLinkOptions = {}): TRPCLink<AppRouter> {
  const transport = openTransport(options);
  const maxItems = options.maxBatchSize ?? MAX_BATCHED_CALLS;
  if (!(Number.isInteger(maxItems) && maxItems >= 1 && maxItems <= MAX_BATCHED_CALLS)) {
    throw new OstiaryError(`maxBatchSize must be a whole number from 1 to ${MAX_BATCHED_CALLS}.`);
  }
  const batchesOf = (type: "query" | "mutation") =>
    httpBatchLink<AppRouter>({
      // Only the path counts. The transport knows the address of the service.
      url: "http://ostiary/trpc",
      transformer: clientTransformer,
      maxItems,
      // Inputs may be longer than an address can be.
      methodOverride: "POST",
      fetch: (url, init) => exchange(transport, new URL(String(url)), init ?? {}, type === "query"),
    });
  const [queryBatches, mutationBatches] = [batchesOf("query"), batchesOf("mutation")];
  return (runtime) => {
    const [query, mutate] = [queryBatches(runtime), mutationBatches(runtime)];
    return (operation) => {
      if (operation.op.type === "subscription") return subscription(transport, operation.op);
      return withCause(operation.op.type === "query" ? query(operation) : mutate(operation));
    };
  };
}

function openTransport(options: OstiaryLinkOptions): Transport {
  refuseBrowsers(options);
  const prefix = prefixOf(options.service);
  const secret =
    secretOf("management token", options.managementToken, `${prefix}_MANAGEMENT_TOKEN`) ??
    secretOf("API key", options.apiKey, `${prefix}_API_KEY`);
  if (secret === undefined) throw missingToken(prefix);
  return transportOf(options, prefix, () => secret).transport;
}

interface ExchangeInit {
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** Sends a request of tRPC's link through the client's transport. @throws {APIError} an error of the whole request. */
async function exchange(
  transport: Transport,
  url: URL,
  { body, signal }: ExchangeInit,
  isIdempotent: boolean,
) {
  const answer = await transport.send(
    {
      method: "POST",
      path: url.pathname,
      isIdempotent,
      api: "management",
      readsErrors: true,
      query: Object.fromEntries(url.searchParams),
      ...(typeof body === "string" ? { body: JSON.parse(body) } : {}),
    },
    { signal: signal ?? undefined },
  );
  const { ok, status, headers } = answer.wire;
  const result: unknown = await transport.read(answer).catch((error) => {
    // A proxy's page has the class of its status, as in every other answer.
    throw !ok && error instanceof APIError ? errorFor(status, null, headers) : error;
  });
  if (!isOfProcedures(result, url.pathname.split(",").length)) {
    throw ok ? notFromService(answer.wire) : errorFor(status, result, headers);
  }
  return { ok, status, headers, json: () => Promise.resolve(result) };
}

/** Whether an answer is that of as many procedures, or an error of all of them, and not one of the whole request. */
function isOfProcedures(body: unknown, calls: number): boolean {
  if (Array.isArray(body))
    return body.length === calls && body.every((item) => isResult(item) || isError(item));
  return isError(body);
}

function isResult(item: { readonly result?: unknown } | null): boolean {
  return typeof item?.result === "object" && item.result !== null;
}

function isError(item: unknown): boolean {
  const json = (item as { readonly error?: { readonly json?: unknown } | null } | null)?.error?.json;
  return typeof json === "object" && json !== null;
}

/** Gives errors the client's own error as their cause. */
function withCause<Result>(
  results: Observable<Result, TRPCClientError<AppRouter>>,
): Observable<Result, TRPCClientError<AppRouter>> {
  return observable((observer) =>
    results.subscribe({
      next: (result) => observer.next(result),
      error: (error) => observer.error(caused(error)),
      complete: () => observer.complete(),
    }),
  );
}

function caused(error: TRPCClientError<AppRouter>): TRPCClientError<AppRouter> {
  const { shape, meta } = error;
  if (shape === null || shape === undefined) return error;
  const response = meta?.response as { readonly headers?: Headers } | undefined;
  const cause: APIError = errorForEvent({ error: { json: shape } }, response?.headers ?? new Headers());
  return new TRPCClientError(error.message, { result: { error: shape }, cause, ...(meta && { meta }) });
}

function subscription(
  transport: Transport,
  { path, input, signal }: Operation,
): ReturnType<OperationLink<AppRouter>> {
  return observable((observer) => {
    const controller = new AbortController();
    const release = forwardAbort(signal, controller);
    const read = async () => {
      for await (const step of subscriptionSteps(transport, path, input, { signal: controller.signal })) {
        if (step === "connecting") {
          observer.next({ result: { type: "state", state: "connecting", error: null } });
        } else if (step === "connected") {
          observer.next({ result: { type: "state", state: "pending", error: null } });
          observer.next({ result: { type: "started" } });
        } else {
          observer.next({ result: { id: step.id, data: step } });
        }
      }
      observer.next({ result: { type: "stopped" } });
      observer.complete();
    };
    read()
      .catch((error: Error) => {
        if (controller.signal.aborted) observer.complete();
        else observer.error(TRPCClientError.from(error, { cause: error }));
      })
      .finally(release);
    return () => controller.abort();
  });
}
