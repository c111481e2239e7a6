import type { AnyRouter } from "@trpc/server";
import { Failure } from "../errors/failure.ts";

/** The limit for most procedures, whose input is some ids and words. Others set their own in their meta. */
const MAX_INPUT_BYTES = 16 * 1024;
/** The limit for a request of a known caller, however many calls it holds. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The limit for a request of an unknown caller. */
export const MAX_ANONYMOUS_BODY_BYTES = 16 * 1024;

/** The metadata of a procedure. */
export interface ProcedureMeta {
  /** The maximum size of its input as sent, 16 KiB by default. */
  readonly maxInputBytes?: number;
  /** Whether API keys may call it. */
  readonly takesKeys?: boolean;
  /** Whether a request may call it only once, because its answer is large and the same each time. */
  readonly isOncePerRequest?: boolean;
}

/** The names of the procedures that a request calls, which may not exist. */
export function calledBy(request: Request): readonly string[] {
  const { pathname, searchParams } = new URL(request.url);
  // tRPC ignores two slashes at the end.
  const names = decoded(pathname.replace(/^\/trpc\//, "").replace(/\/{1,2}$/, ""));
  return searchParams.get("batch") === "1" ? names.split(",") : [names];
}

/** A procedure of a router, as far as its definition says something about its calls. */
export interface ProcedureDefinition {
  readonly type: "query" | "mutation" | "subscription";
  readonly meta?: ProcedureMeta;
  /** The schemas of its input; none: it takes no input. */
  readonly inputs: readonly unknown[];
}

/** The definition of a procedure, by its full name; `null` if the router has none of this name. */
export function procedureOf({ _def }: AnyRouter, name: string): ProcedureDefinition | null {
  const procedures = _def.procedures as Readonly<Record<string, { readonly _def?: ProcedureDefinition }>>;
  return Object.hasOwn(procedures, name) ? (procedures[name]?._def ?? null) : null;
}

/** @throws {Failure} `invalid_request` for a request that repeats a call which it may make only once. */
export function requireFewCalls(router: AnyRouter, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) < index && isOncePerRequest(router, name));
  if (repeated === undefined) return;
  throw new Failure(
    "invalid_request",
    `Call \`${repeated}\` once in a request: its answer is the same each time.`,
  );
}

function isOncePerRequest(router: AnyRouter, name: string): boolean {
  return procedureOf(router, name)?.meta?.isOncePerRequest === true;
}

/** The maximum size of the body of a request for these procedures by a known caller. */
export function maxBodyBytes(router: AnyRouter, names: readonly string[]): number {
  const ofInputs = names.map((name) => procedureOf(router, name)?.meta?.maxInputBytes ?? MAX_INPUT_BYTES);
  return Math.min(
    MAX_BODY_BYTES,
    ofInputs.reduce((sum, bytes) => sum + bytes, 0),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
