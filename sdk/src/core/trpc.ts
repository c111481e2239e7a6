import { clientTransformer, writeProcedureData } from "../contract/procedure-data.ts";
import type { Procedure, Procedures } from "../contract/procedures.ts";
import type { Answer } from "./answer.ts";
import { APIPromise, type WithResponse } from "./api-promise.ts";
import { checkTime, fromCaller } from "./checks.ts";
import { type Decimals, decimals } from "./decimals.ts";
import { notFromService } from "./error-answers.ts";
import { isFields } from "./fields.ts";
import { subscribe } from "./subscription.ts";
import type { RequestOptions, RequestTarget, Transport } from "./transport.ts";

/** Longer addresses do not pass every proxy. */
const MAX_INPUT_IN_ADDRESS = 2_000;

/** The arguments of a call: the input may be omitted where the procedure needs none. */
type Arguments<Input> = undefined extends Input
  ? [input?: Input, options?: RequestOptions]
  : [input: Input, options?: RequestOptions];

/** What a procedure is called with: `query`, `mutate` or `subscribe`, as in tRPC's own client. */
type Callable<Called extends Procedure> = Called["kind"] extends "query"
  ? {
      /** Calls the procedure. @throws {APIError} the class tells which error. */
      readonly query: (...args: Arguments<Called["input"]>) => APIPromise<Decimals<Called["output"]>>;
    }
  : Called["kind"] extends "mutation"
    ? {
        /**
         * Calls the procedure, which changes something. The call is not repeated after a lost connection, unless its input has an
         * idempotency key. @throws {APIError} the class tells which error.
         */
        readonly mutate: (...args: Arguments<Called["input"]>) => APIPromise<Decimals<Called["output"]>>;
      }
    : {
        /** Iterates over the procedure's events. Reconnects by itself, and continues after the last event. */
        readonly subscribe: (
          ...args: Arguments<Called["input"]>
        ) => AsyncGenerator<Decimals<Called["output"]>, void, undefined>;
      };

/** The procedures of a table, callable. */
export type ProcedureClient<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Procedure
    ? Callable<Table[Name]>
    : ProcedureClient<Table[Name]>;
};

/** Every procedure of the management API. */
export type Trpc = ProcedureClient<Procedures>;

/**
 * Every procedure of the management API, typed by the server's router: `trpc.keys.list.query({ limit: 10 })`. Errors are the classes
 * that the rest of the client throws.
 */
export function openTrpc(transport: Transport): Trpc {
  // The type tells which names there are. The service answers other names with 404.
  return procedures(transport, []) as Trpc;
}

/**
 * A proxy for a path of names. It is an object, not a function: `await` would call a function named `then`, and `JSON.stringify` one
 * named `toJSON`. In a text, as in a log, it is its own name.
 */
function procedures(transport: Transport, names: readonly string[]): object {
  const procedure = names.join(".");
  const callAs = (kind: "query" | "mutation") => (input?: unknown, options?: RequestOptions) => {
    const target = fromCaller(() => targetOf(kind, procedure, input));
    return new APIPromise(transport.send(target, options), (answer) =>
      outputOf(transport, procedure, answer),
    );
  };
  const methods = {
    query: callAs("query"),
    mutate: callAs("mutation"),
    subscribe: (input?: unknown, options?: RequestOptions) =>
      subscribe(transport, procedure, withoutUndefined(input), options),
  };
  const text = `trpc${names.map((name) => `.${name}`).join("")}`;
  const target: object = Object.defineProperties(
    {},
    { [Symbol.toPrimitive]: { value: () => text }, [Symbol.toStringTag]: { value: text } },
  );
  return new Proxy(target, {
    get: (_, name) => {
      if (typeof name !== "string") return target[name as keyof typeof target];
      return Object.hasOwn(methods, name)
        ? methods[name as keyof typeof methods]
        : procedures(transport, [...names, name]);
    },
  });
}

async function outputOf(transport: Transport, procedure: string, answer: Answer): Promise<unknown> {
  const body = await transport.read<{ result?: { data?: unknown } }>(answer);
  try {
    // The typed values are checked. The rest relies on the table, which is generated from the router.
    const output = decimals(clientTransformer.deserialize(body.result?.data));
    // Only procedures of a person's session may answer with nothing.
    if (isFields(output) || procedure.startsWith("auth.")) return output;
  } catch {
    // The data is not in the encoding of procedures.
  }
  throw notFromService(answer.wire);
}

/** A procedure's answer, which has a list of this name. @throws {APIError} it has none: it is not from the service. */
export async function listIn<Data extends object>(
  answer: APIPromise<Data>,
  name: keyof Data,
): Promise<WithResponse<Data>> {
  const answered = await answer.withResponse();
  if (!hasList(answered.data, name)) throw notFromService(answered.response);
  return answered;
}

/** Whether data has a list of this name, as its type says. */
export function hasList<Data extends object>(data: Data | null, name: keyof Data): boolean {
  return Array.isArray(data?.[name]);
}

/** A query is sent with its input in the address, unless it is too long for one. */
function targetOf(kind: "query" | "mutation", procedure: string, input: unknown): RequestTarget {
  const path = `/trpc/${procedure}`;
  const body = input === undefined ? undefined : writeProcedureData(withoutUndefined(input));
  const text = body === undefined ? "" : JSON.stringify(body);
  if (kind === "query" && text.length <= MAX_INPUT_IN_ADDRESS) {
    return { method: "GET", path, api: "management", query: body === undefined ? {} : { input: text } };
  }
  const hasKey = (input as { readonly idempotencyKey?: string } | undefined)?.idempotencyKey !== undefined;
  return {
    method: "POST",
    path,
    api: "management",
    body: body ?? {},
    isIdempotent: kind === "query" || hasKey,
  };
}

/**
 * Removes fields that are `undefined`, because the service refuses fields that it does not know, whatever their value.
 *
 * @throws {OstiaryError} a field is not a valid date.
 */
function withoutUndefined(input: unknown): unknown {
  if (!isFields(input)) return input;
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) checkTime(name, value);
  return Object.fromEntries(given);
}
