import process from "node:process";
import { Command } from "commander";
import { Ostiary } from "../client.ts";
import { VERSION } from "../core/version.ts";
import { addActionsCommands } from "./actions-commands.ts";
import { addAuditCommands } from "./audit-commands.ts";
import type { CommandParts } from "./command-parts.ts";
import { addHelpCommands } from "./help-command.ts";
import { addKeyCommands } from "./key-commands.ts";
import { addModelCommands } from "./model-commands.ts";
import { commandLogger, forTerminal, timeoutOption, timeoutsOf, toJson } from "./output.ts";
import { addUsageCommand } from "./usage-command.ts";

const HELP = `
Environment:
  OSTIARY_API_KEY            API key
  OSTIARY_MANAGEMENT_TOKEN   management token, to change keys and to read the audit trail
  OSTIARY_BASE_URL           address of the service (default http://127.0.0.1:8080)

Examples:
  ostiary chat sandbox/echo "Hello!"
  ostiary audit export --from 2026-10-01 --to 2026-10-31 -o october.ndjson
  ostiary audit verify october.ndjson

Exit codes: 0 success; 1 the service refused the command, could not be reached or was interrupted; 2 invalid command,
or a file that cannot be verified; 3 verification failed; 130 interrupted by the user.`;

/** The command line. Aborting `signal` ends the running command. */
export function createProgram(signal: AbortSignal): Command {
  const program = new Command("ostiary")
    .description("Calls models, and reads the audit log, keys and usage of an account.")
    .option("--base-url <url>", "address of the service (default: OSTIARY_BASE_URL)")
    .option("--json", "print JSON, for scripts")
    .addOption(timeoutOption())
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .addHelpText("after", HELP)
    .exitOverride()
    .showHelpAfterError();
  const isJson = () => program.opts<{ json?: boolean }>().json === true;
  const parts: CommandParts = {
    client: () => {
      const options = program.opts<{ baseUrl?: string; timeout?: number }>();
      return new Ostiary({ baseURL: options.baseUrl, logger: commandLogger(), ...timeoutsOf(options) });
    },
    print: (value, lines) => {
      const text = isJson() ? toJson(value) : forTerminal(lines.join("\n"));
      if (text !== "") process.stdout.write(`${text}\n`);
    },
    isJson,
    signal,
  };
  addModelCommands(program, parts);
  addAuditCommands(program, parts);
  const actions = program
    .command("actions")
    .description("export and verify the account's audit trail; needs OSTIARY_MANAGEMENT_TOKEN");
  addActionsCommands(actions, { client: () => parts.client().account, print: parts.print, signal });
  addKeyCommands(program, parts);
  addUsageCommand(program, parts);
  addHelpCommands(program);
  return program;
}
