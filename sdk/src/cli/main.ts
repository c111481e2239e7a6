import process from "node:process";
import type { Command } from "commander";
import {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  OstiaryError,
  StreamInterruptedError,
} from "../core/errors.ts";
import { endWithOutput, forTerminal } from "./output.ts";
import { connectionProblem, refusal } from "./problems.ts";
import { createProgram } from "./program.ts";

/** Exit codes. 0: success. 1: refused, unreachable or interrupted by an error. 2: invalid usage, or a file that cannot be verified. 3: verification failed. 130: interrupted. */
const FAILED = 1;
const MISUSED = 2;
const INTERRUPTED = 130;

async function run(): Promise<void> {
  const leaving = new AbortController();
  process.once("SIGINT", () => leaving.abort());
  endWithOutput();
  let command: Command | undefined;
  try {
    const program = createProgram(leaving.signal).hook("preAction", (_, running) => {
      command = running;
    });
    await program.parseAsync(process.argv);
  } catch (error) {
    process.exitCode = report(error, command);
  }
}

function report(error: unknown, command: Command | undefined): number {
  if (error instanceof APIUserAbortError) return INTERRUPTED;
  if (error instanceof APIError) {
    const id = error.requestId === null ? "" : ` (request ${error.requestId})`;
    const code = error.code === null ? "" : ` ${error.code}`;
    writeError(`${error.status}${code}: ${refusal(error, command)}${id}`);
    return FAILED;
  }
  if (error instanceof APIConnectionError) {
    writeError(connectionProblem(error));
    return FAILED;
  }
  if (error instanceof StreamInterruptedError) {
    writeError(error.message);
    return FAILED;
  }
  if (error instanceof OstiaryError) {
    // Only a program can pass an option of the client.
    writeError(error.message.replace(/, or pass \w+\.$/, "."));
    return MISUSED;
  }
  // commander has already printed its message.
  if (typeof error === "object" && error !== null && "exitCode" in error)
    return Number(error.exitCode) === 0 ? 0 : MISUSED;
  writeError(error instanceof Error ? error.message : String(error));
  return FAILED;
}

function writeError(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

await run();
