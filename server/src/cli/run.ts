import { Command, CommanderError } from "commander";
import { connectionProblem, refusal } from "../../../sdk/src/cli/problems.ts";
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  OstiaryError,
} from "../../../sdk/src/core/errors.ts";
import type { Trpc } from "../../../sdk/src/core/trpc.ts";
import type { OstiaryOperator } from "../../../sdk/src/operator.ts";
import { loadEnvironmentFile } from "../config/environment-file.ts";
import { problemsOf } from "../errors/problems.ts";
import { addAccountCommands, NoSuchAccount } from "./account-commands.ts";
import { addAuditCommands } from "./audit-command.ts";
import { asConfiguredOperator, type Environment, operatorOf } from "./connection.ts";
import { addJournalCommands } from "./journal-commands.ts";
import { addNodeCommands } from "./node-commands.ts";
import { addHelpCommands, forTerminal, timeoutOption, timeoutsOf, toJson } from "./output.ts";
import { addTokenCommand } from "./token-command.ts";

interface OperatorRun {
  readonly environment: Environment;
  write(text: string): void;
  writeError(text: string): void;
  /** The command that was begun, by whose options a refusal is explained. */
  command?: Command;
}

const HELP = `
Environment:
  OSTIARY_BASE_URL           address of the service (default http://127.0.0.1:8080)
  OSTIARY_MANAGEMENT_TOKEN   management token of an operator; create one with "token"
  OSTIARY_OPERATOR_EMAIL, OSTIARY_OPERATOR_PASSWORD
                             credentials that "token" signs in with
  OSTIARY_MANAGEMENT_TOKEN_FILE, OSTIARY_OPERATOR_PASSWORD_FILE
                             paths of files with these secrets, instead of the secrets

A file .env in the working folder is read, too, unless NODE_ENV is production.

Exit codes: 0 success; 1 the service refused the command or could not be reached, or a check failed; 2 invalid command,
or a file that cannot be verified; 3 verification failed.`;

/** The operator's command line: a program of its own, or a command of another one. */
export function operatorProgram(run: OperatorRun): Command {
  const program = new Command("operator")
    .description(
      "Manages the running service. Every change is recorded in the audit trail, which `audit` lists.",
    )
    .summary("manage the running service: accounts, credit, audit trail, journal")
    .helpOption("-h, --help", "print this help")
    .option("--json", "print JSON, for scripts")
    .addOption(timeoutOption())
    .addHelpText("after", HELP)
    .configureOutput({ writeOut: run.write, writeErr: run.writeError })
    .exitOverride()
    .hook("preAction", (_, command) => {
      run.command = command;
      loadEnvironmentFile(run.environment);
    });
  const timeouts = () => timeoutsOf(program.opts<{ timeout?: number }>());
  const parts: CommandParts = {
    client: () => operatorOf(run.environment, timeouts()),
    asConfiguredOperator: (use) => asConfiguredOperator(run.environment, timeouts(), use),
    print: (answer, lines) => {
      const isJson = program.opts<{ json?: boolean }>().json === true;
      run.write(isJson ? `${toJson(answer)}\n` : lines.map((line) => `${forTerminal(line)}\n`).join(""));
    },
  };
  addAccountCommands(program, parts);
  addAuditCommands(program, parts);
  addJournalCommands(program, parts);
  addNodeCommands(program, parts);
  addTokenCommand(program, parts);
  addHelpCommands(program);
  return program;
}

/** Prints what went wrong in a command, without a stack trace. @returns the exit code. */
export function reportCommandFailure(
  error: unknown,
  { writeError, command }: Pick<OperatorRun, "writeError" | "command">,
): number {
  // Commander has printed its message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof OstiaryError)) {
    for (const problem of problemsOf(error)) writeError(`${forTerminal(problem)}\n`);
    return 1;
  }
  writeError(`${forTerminal(explain(error, command))}\n`);
  const isRefused = [APIError, APIConnectionError, NoSuchAccount].some((type) => error instanceof type);
  return isRefused ? 1 : 2;
}

/** What a command needs besides its own arguments. */
export interface CommandParts {
  /** Made when a command is run: help needs none. */
  readonly client: () => OstiaryOperator;
  /** Signs in as the configured operator, for what no token may do. */
  readonly asConfiguredOperator: <Result>(use: (trpc: Trpc) => Promise<Result>) => Promise<Result>;
  /** Prints `answer` for scripts, as JSON, or `lines` for people. */
  readonly print: (answer: unknown, lines: readonly string[]) => void;
}

function explain(error: OstiaryError, command: Command | undefined): string {
  if (error instanceof APIError && error.code !== null) return `${refusal(error, command)} (${error.code})`;
  if (error instanceof APIConnectionTimeoutError) return connectionProblem(error);
  return error instanceof APIConnectionError
    ? `${connectionProblem(error)} Check OSTIARY_BASE_URL.`
    : error.message;
}
