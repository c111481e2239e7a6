import process from "node:process";
import { Command } from "commander";
import { type Logger, pino } from "pino";
import { keptHours } from "../audit/audit-retention.ts";
import { addHelpCommands, wholeNumber } from "../cli/output.ts";
import { operatorProgram, reportCommandFailure } from "../cli/run.ts";
import type { Config } from "../config/config.ts";
import { lockDataDir } from "../database/data-dir-lock.ts";
import type { Database } from "../database/database.ts";
import { MIGRATION_IS_BLOCKED, migrate } from "../database/migrate.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { openDataDir } from "../start/data-dir.ts";
import type { DatabaseUse } from "../start/database-check.ts";
import { openConfiguredDatabase } from "../start/open-database.ts";
import { readSettings, readVersion, type Settings } from "../start/read-settings.ts";
import { backupCheck } from "./backup-check.ts";
import { summaryOf } from "./check-config.ts";
import type { Findings } from "./findings.ts";
import { checkHealth } from "./health.ts";

interface ServerRun {
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
Settings are environment variables, and outside production also lines of a file .env in the working folder. check-config prints
what they mean, and a running service explains them at /docs/reference/configuration.

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
    .addHelpText("after", HELP)
    .configureOutput({ writeOut: run.write, writeErr: run.writeError })
    .exitOverride();
  addCommands(program, run);
  try {
    await program.parseAsync([...run.arguments], { from: "user" });
  } catch (error) {
    const code = reportCommandFailure(error, run);
    // Help that was asked for leaves the exit code as it is.
    if (code !== 0) process.exitCode = code;
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
    .action(() =>
      report(run, async (database) => {
        const { missing: applied } = await migrate(database, run.migrations, {
          onBlocked: () => run.writeError(`${MIGRATION_IS_BLOCKED}\n`),
        });
        return {
          lines: [...applied.map((file) => `applied ${file}`), "The schema is up to date."],
          problems: [],
        };
      }),
    );
  program
    .command("check-config")
    .description("check the settings, the plans and the catalog file without starting the service")
    .action(async () => print(run, summaryOf(await readSettings(run.environment))));
  program
    .command("health")
    .description("ask the running service on this machine if it is ready; for health checks of containers")
    .option("--live", "ask only if the process answers")
    .action(async ({ live = false }: { live?: boolean }) =>
      print(run, await checkHealth(run.environment, live)),
    );
  program
    .command("backup-check")
    .description(
      "check a restored database without changing it: schema, balances, usage, audit log and audit trail",
    )
    .option(
      "--hours <number>",
      "hours of usage before the newest entry to compare, 1 to 8784",
      wholeNumber("--hours", 1, 8_784),
      48,
    )
    .action(({ hours }: { hours: number }) =>
      report(
        run,
        (database, { plans }) => backupCheck(database, run.migrations, Math.min(hours, keptHours(plans))),
        { isOnlyRead: true },
      ),
    );
  program.addCommand(operatorProgram(run));
  addHelpCommands(program);
}

/** Runs a command that needs the database, and prints what it has found. */
async function report(
  run: ServerRun,
  use: (database: Database, settings: Settings) => Promise<Findings>,
  kind: DatabaseUse = { isOnlyRead: false },
): Promise<void> {
  const settings = await readSettings(run.environment);
  const { config } = settings;
  const level = config.logLevel === null || config.logLevel === "info" ? "warn" : config.logLevel;
  const log = pino(
    { level, hooks: { streamWrite: withoutSecrets } },
    { write: (line) => run.writeError(line) },
  );
  print(run, await withDatabase(config, log, kind, (database) => use(database, settings)));
}

/**
 * Opens the configured database for as long as `use` takes. The bundled one needs the data folder, which a running service has locked.
 *
 * @throws {StartupFailure} if the database can't be used.
 */
async function withDatabase(
  config: Config,
  log: Logger,
  kind: DatabaseUse,
  use: (database: Database) => Promise<Findings>,
): Promise<Findings> {
  if (config.databaseUrl === null) await openDataDir(config.dataDir);
  const lock = config.databaseUrl === null ? await lockDataDir(config.dataDir) : null;
  try {
    const { database, close } = await openConfiguredDatabase(config, log, kind);
    try {
      return await use(database);
    } finally {
      await close();
    }
  } finally {
    await lock?.release();
  }
}

function print(run: ServerRun, { lines, problems }: Findings): void {
  for (const line of lines) run.write(`${line}\n`);
  for (const problem of problems) run.writeError(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
