import process from "node:process";
import { Command, CommanderError } from "commander";
import { pino } from "pino";
import { operatorProgram, reportOperatorFailure } from "../cli/run.ts";
import type { Database } from "../database/database.ts";
import { checkableHours } from "../management/operator.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { readEnvironmentFile } from "../start/environment-file.ts";
import { readSettings, type Settings } from "../start/read-settings.ts";
import { readVersion } from "../start/read-version.ts";
import { explainStartup } from "../start/startup-failure.ts";
import { backupCheck } from "./backup-check.ts";
import { summaryOf } from "./check-config.ts";
import type { Findings } from "./findings.ts";
import { checkHealth } from "./health.ts";
import { migrateDatabase } from "./migrate-database.ts";
import { withDatabase } from "./with-database.ts";

export interface ServerRun {
  /** The arguments after the command's own name. */
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of the SQL files. */
  readonly migrations: URL;
  /** The package.json with the version. */
  readonly manifest: URL;
  /** Starts the service in this process. */
  start(): Promise<void>;
  write(text: string): void;
  writeError(text: string): void;
}

const HELP = `
Settings are environment variables. check-config prints their values, and a running service explains them at
/docs/reference/configuration.

Exit codes: 0 success; 1 the command failed, or a check has found something wrong; 2 invalid command.`;

/**
 * Runs the command line `ostiary-server`. Sets the exit code of the process and does not end it: `start` leaves the service
 * running, and output may still be written.
 */
export async function runServerCommand(run: ServerRun): Promise<void> {
  const program = new Command("ostiary-server")
    .description("A gateway between applications and language models.")
    .version(await readVersion(run.manifest), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", HELP)
    .configureOutput({ writeOut: run.write, writeErr: run.writeError })
    .exitOverride();
  addCommands(program, run);
  try {
    await program.parseAsync([...run.arguments], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) process.exitCode = 2;
      return;
    }
    const code = reportOperatorFailure(error, run);
    if (code === null) run.writeError(`${explainStartup(error)}\n`);
    process.exitCode = code ?? 1;
  }
}

function addCommands(program: Command, run: ServerRun): void {
  program
    .command("start")
    .description("start the service; SIGTERM stops it")
    .action(() => run.start());
  program
    .command("migrate")
    .description("bring the schema of the database up to date, and exit")
    .action(() => report(run, (database) => migrateDatabase(database, run.migrations)));
  program
    .command("check-config")
    .description("check the settings, the plans and the catalog file without starting the service")
    .action(async () => print(run, summaryOf(await settingsOf(run))));
  program
    .command("health")
    .description("ask the running service on this machine if it is ready; for health checks of containers")
    .option("--live", "ask only if the process answers")
    .action(async ({ live = false }: { live?: boolean }) =>
      print(run, await checkHealth({ environment: run.environment, live })),
    );
  program
    .command("backup-check")
    .description(
      "check a restored database without changing it: schema, balances, usage, audit log and audit trail",
    )
    .option("--hours <number>", "hours of usage before the newest entry to compare, 1 to 8784", "48")
    .action((options: { hours: string }) => {
      const hours = Number(options.hours);
      if (!/^\d{1,4}$/.test(options.hours) || hours < 1 || hours > 8_784) {
        program.error("--hours must be a whole number from 1 to 8784.", { exitCode: 2 });
      }
      return report(run, (database, { plans }) =>
        backupCheck(database, { migrations: run.migrations, hours: Math.min(hours, checkableHours(plans)) }),
      );
    });
  program.addCommand(operatorProgram(run));
}

/** Reads the settings as the service does at its start. */
function settingsOf(run: ServerRun): Promise<Settings> {
  readEnvironmentFile(run.environment);
  return readSettings(run.environment);
}

/** Runs a command that needs the database, and prints what it has found. */
async function report(
  run: ServerRun,
  use: (database: Database, settings: Settings) => Promise<Findings>,
): Promise<void> {
  const settings = await settingsOf(run);
  const { config } = settings;
  const level = config.logLevel === null || config.logLevel === "info" ? "warn" : config.logLevel;
  const log = pino(
    { level, hooks: { streamWrite: withoutSecrets } },
    { write: (line) => run.writeError(line) },
  );
  print(run, await withDatabase(config, log, (database) => use(database, settings)));
}

function print(run: ServerRun, { lines, problems }: Findings): void {
  for (const line of lines) run.write(`${line}\n`);
  for (const problem of problems) run.writeError(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
