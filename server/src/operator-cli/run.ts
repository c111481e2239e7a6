import { TRPCClientError } from "@trpc/client";
import { Command, CommanderError } from "commander";
import type { AppRouter } from "../rpc/router.ts";
import { addAccountCommands } from "./account-commands.ts";
import { addAuditCommands } from "./audit-command.ts";
import { CliError } from "./cli-error.ts";
import { connectionOf } from "./connection.ts";
import { addJournalCommands } from "./journal-commands.ts";
import { addNodeCommands } from "./node-commands.ts";
import { Output } from "./output.ts";
import { addTokenCommand } from "./token-command.ts";

export interface OperatorRun {
  /** What stands after the command's own name. */
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  write(text: string): void;
  writeError(text: string): void;
}

const HELP = `
Environment:
  OSTIARY_BASE_URL           address of the service (default http://127.0.0.1:8080)
  OSTIARY_MANAGEMENT_TOKEN   management token of an operator; create one with "token"
  OSTIARY_OPERATOR_EMAIL, OSTIARY_OPERATOR_PASSWORD
                             credentials that "token" signs in with

Exit codes: 0 success; 1 the service refused the command or could not be reached, or a check failed; 2 invalid command.`;

/** Runs the operator's command line. @returns the exit code. */
export async function runOperatorCommand(run: OperatorRun): Promise<number> {
  const program = new Command("operator")
    .description("Manages the service. Every change is recorded in the audit trail: see `audit`.")
    .option("--json", "print JSON, for scripts")
    .addHelpText("after", HELP)
    .configureOutput({ writeOut: run.write, writeErr: run.writeError })
    .exitOverride();
  const parts = {
    connection: () => connectionOf(run.environment),
    output: () => new Output(run.write, program.opts<{ json?: boolean }>().json === true),
  };
  addAccountCommands(program, parts);
  addAuditCommands(program, parts);
  addJournalCommands(program, parts);
  addNodeCommands(program, parts);
  addTokenCommand(program, parts);
  try {
    await program.parseAsync([...run.arguments], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CliError) {
      run.writeError(`${error.message}\n`);
      return 2;
    }
    if (!(error instanceof TRPCClientError)) throw error;
    run.writeError(`${explain(error)}\n`);
    return 1;
  }
}

/** What a command needs beside its own arguments. */
export interface CommandParts {
  /** Opened when a command is run: help needs none. */
  readonly connection: () => ReturnType<typeof connectionOf>;
  readonly output: () => Output;
}

function explain(error: TRPCClientError<AppRouter>): string {
  const told = error.data?.ostiary;
  if (told !== undefined) return `${error.message} (${told.code})`;
  const body = error.meta?.responseJSON as { error?: { message?: string; code?: string } } | undefined;
  if (body?.error?.message !== undefined) return `${body.error.message} (${body.error.code})`;
  return `The service cannot be reached: ${error.message}. Check OSTIARY_BASE_URL.`;
}
