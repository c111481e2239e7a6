import { createReadStream } from "node:fs";
import process from "node:process";
import { addAbortSignal, type Readable } from "node:stream";
import { aborted } from "../core/abort.ts";
import { type APIUserAbortError, OstiaryError } from "../core/errors.ts";

const UNVERIFIABLE = 2;
const TAMPERED = 3;

/**
 * The lines of a file that is to be verified, or of standard input if it is `-`. Not those of `node:readline`, which in newer versions also
 * ends lines at U+2028 and U+2029: strings of JSON may contain these.
 *
 * @throws {OstiaryError} it cannot be read; {@link APIUserAbortError} the signal was aborted.
 */
export async function* linesOf(
  file: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const piece of piecesOf(file, signal)) {
    let start = 0;
    for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", start)) {
      yield (rest + piece.slice(start, end)).replace(/\r$/, "");
      rest = "";
      start = end + 1;
    }
    rest += piece.slice(start);
  }
  if (rest !== "") yield rest;
}

async function* piecesOf(
  file: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  try {
    yield* (
      file === "-" ? standardInput(signal) : createReadStream(file, { encoding: "utf8", signal })
    ) as AsyncIterable<string>;
  } catch (cause) {
    if (signal?.aborted) throw aborted(signal);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new OstiaryError(`The file cannot be read: ${reason}`, { cause });
  }
}

/** Standard input as text. Aborting the signal ends it, also while it waits for more. */
function standardInput(signal: AbortSignal | undefined): Readable {
  process.stdin.setEncoding("utf8");
  return signal === undefined ? process.stdin : addAbortSignal(signal, process.stdin);
}

const POINT = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;

/**
 * Reads a point of a chain, as {@link reportOf} prints the head.
 *
 * @param what the name of its number, such as `batch`.
 * @throws {OstiaryError} it is not a number and a digest.
 */
export function pointOf(what: string, text: string): { readonly number: number; readonly digest: string } {
  const [, number, digest] = POINT.exec(text) ?? [];
  if (number === undefined || digest === undefined)
    throw new OstiaryError(`--expected must be ${what}:digest.`);
  return { number: Number(number), digest };
}

/** The outcome of a verification, as it is printed. */
export interface Outcome {
  /** Whether a file was verified, and not the service's own records. */
  readonly isFile: boolean;
  /** What was verified, such as `entries`, and how many there are. */
  readonly what: string;
  readonly count: number;
  readonly problems: readonly object[];
  /** Further lines, before the number of what was verified. */
  readonly notes?: readonly string[];
  readonly head: { readonly number: number; readonly digest: string } | null;
}

/** The lines of an outcome. The last one is the head. Sets the exit code. */
export function reportOf({ isFile, what, count, problems, notes = [], head }: Outcome): readonly string[] {
  if (problems.length > 0) process.exitCode = TAMPERED;
  else if (isFile && count === 0) process.exitCode = UNVERIFIABLE;
  const verdict =
    count > 0
      ? "Verified: no changes."
      : isFile
        ? `The file has no ${what}: it proves nothing.`
        : `The service has no ${what}: there is nothing to verify.`;
  const end = head === null ? "none" : `${head.number}:${head.digest}`;
  return [
    ...(problems.length > 0 ? ["Verification failed:", ...problems.map(describe)] : [verdict]),
    ...notes,
    `${what.padEnd(8)} ${count}`,
    `head     ${end}`,
  ];
}

/** A problem in one line, without the fields that do not apply. */
function describe(problem: object): string {
  return Object.entries(problem)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${value}`)
    .join("  ");
}
