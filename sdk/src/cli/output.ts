import { Console } from "node:console";
import { once } from "node:events";
import type { Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import process from "node:process";
import { Option } from "commander";
import { OstiaryError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";

const NANO_DIGITS = 9;
const MAX_TIMEOUT_S = 86_400;

/** The beginning of a file that is kept, and the length of the whole file when it was read. */
export interface KeptBytes {
  readonly bytes: number;
  readonly ofBytes: number;
}

/** A file that is being written. */
interface Target {
  readonly handle: FileHandle;
  /** The length that it must have. */
  bytes: number;
}

/**
 * Writes texts to a file, or to standard output if that is `null`. A file is opened when the first text arrives, or when all have: until
 * then it stays as it is, for the texts of a command that fails at once.
 *
 * @param kept the beginning of the file that the texts follow. The rest of the file is removed. Default: nothing.
 * @throws {Error} another program writes the file, too, as a job does that is started again while it still runs.
 */
export async function writeAll(
  texts: AsyncIterable<string>,
  file: string | null,
  kept: KeptBytes | null = null,
): Promise<void> {
  let target: Target | null = null;
  try {
    for await (const text of texts) {
      if (file !== null) {
        target ??= await openAfter(file, kept);
        await append(target, text);
      } else if (!process.stdout.write(text)) await once(process.stdout, "drain");
    }
    if (file === null) return;
    target ??= await openAfter(file, kept);
    checkLength(await target.handle.stat(), target.bytes);
  } finally {
    await target?.handle.close();
  }
}

/** The file that an option names; `null` for standard output, which is the default and, as in other commands, `-`. */
export function outputFile(given: string | undefined): string | null {
  return given === undefined || given === "-" ? null : given;
}

async function openAfter(file: string, kept: KeptBytes | null): Promise<Target> {
  if (kept !== null) checkLength(await stat(file), kept.ofBytes);
  // Pipes and devices cannot be truncated.
  const handle = await open(file, kept === null ? "w" : "a");
  if (kept !== null) await handle.truncate(kept.bytes);
  return { handle, bytes: kept?.bytes ?? 0 };
}

/** Resolves when more can be written without being kept in memory. */
async function append(target: Target, text: string): Promise<void> {
  const data = Buffer.from(text);
  checkLength(await target.handle.stat(), target.bytes);
  await target.handle.appendFile(data);
  target.bytes += data.length;
}

/** @throws {Error} a file has another length than what was read or written of it. Pipes and devices have none. */
function checkLength(found: Stats, bytes: number): void {
  if (!found.isFile() || found.size === bytes) return;
  throw new Error(
    "Another program has written the file at the same time, so it may be incomplete. Export it again, with one command at a time.",
  );
}

/**
 * Ends the process when standard output cannot be written: quietly if its reader has closed the pipe, as `head` does; otherwise, as on a
 * full disk, with the reason and exit code 1, because what was written is incomplete. An exit code that the command has set stays: a
 * verification that has failed has failed, also if its output was not read.
 */
export function endWithOutput(): void {
  // Notes and errors that can't be written change neither what the command has done nor its exit code.
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: Error & { readonly code?: unknown }) => {
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(process.exitCode || 1);
  });
}

/**
 * Text in a form that a terminal shows. A model or its provider may have written control characters, which a terminal obeys: they
 * could fill the clipboard, or hide what comes next. Tabs and line feeds stay.
 */
export function forTerminal(text: string): string {
  return text.replaceAll("\r", "").replace(/[^\P{Cc}\t\n]/gu, "·");
}

/** Rows in aligned columns, each as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Rows in aligned columns below a header. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return columns([head, ...rows]);
}

/** The option that replaces the client's timeouts, which have no options of their own. */
export function timeoutOption(): Option {
  return new Option(
    "--timeout <seconds>",
    "seconds to wait for an answer (default: 600), or for more of one that has begun (default: 120)",
  ).argParser(wholeNumber("--timeout", 1, MAX_TIMEOUT_S));
}

/** The destination of the client's log: standard error, because scripts read standard output. */
export function commandLogger(): Logger {
  return new Console(process.stderr);
}

/** The client's timeouts by the value of {@link timeoutOption}. */
export function timeoutsOf({ timeout }: { readonly timeout?: number }) {
  const ms = timeout === undefined ? undefined : timeout * 1_000;
  return { timeout: ms, streamIdleTimeout: ms };
}

/** The parser of an option whose value is a whole number. */
export function wholeNumber(name: string, from: number, to: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= from && Number(text) <= to) return Number(text);
    throw new OstiaryError(`${name} must be a whole number from ${from} to ${to}.`);
  };
}

/** Money is written as decimal strings, because JSON has no integers of that size. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part), 2);
}

/** An exact amount in US dollars. */
export function usdOf(nanoUsd: string): string {
  const sign = nanoUsd.startsWith("-") ? "-" : "";
  const digits = nanoUsd.slice(sign.length).padStart(NANO_DIGITS + 1, "0");
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, "").padEnd(2, "0");
  return `${sign}${digits.slice(0, -NANO_DIGITS)}.${fraction}`;
}
