import type { AnyRouter } from "@trpc/server";

/** The input of most procedures is some ids and words. Those that take more say so in their meta. */
const MAX_INPUT_BYTES = 16 * 1024;
/** Of a request of whoever is signed in, however many calls are in it. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Of a request of whoever is not. */
export const MAX_ANONYMOUS_BODY_BYTES = 16 * 1024;

/** What the service knows of a procedure before it is called. */
export interface ProcedureMeta {
  /** How many bytes its input may have, as it is sent. 16 KiB unless this says otherwise. */
  readonly maxInputBytes?: number;
}

/** The names of the procedures that a request calls. Whether there are such procedures is not known yet. */
export function calledBy(request: Request): readonly string[] {
  const { pathname, searchParams } = new URL(request.url);
  const names = decoded(pathname.replace(/^\/trpc\//, ""));
  return searchParams.get("batch") === "1" ? names.split(",") : [names];
}

/** How many bytes the body of a request for these procedures may have when its caller is known. */
export function maxBodyBytes({ _def }: AnyRouter, names: readonly string[]): number {
  const procedures = new Map(Object.entries(_def.procedures as Procedures));
  const ofInputs = names.map((name) => procedures.get(name)?._def?.meta?.maxInputBytes ?? MAX_INPUT_BYTES);
  return Math.min(
    MAX_BODY_BYTES,
    ofInputs.reduce((sum, bytes) => sum + bytes, 0),
  );
}

/** By their full names, as a router of tRPC holds them. */
type Procedures = Readonly<Record<string, { readonly _def?: { readonly meta?: ProcedureMeta } }>>;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
