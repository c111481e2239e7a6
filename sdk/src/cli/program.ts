import process from "node:process";
import { Command, Option } from "commander";
import { type ExportVerification, verifyAuditExport } from "../audit/verify-export.ts";
import { Ostiary } from "../client.ts";
import type { AuditExportParams } from "../contract/audit.ts";
import type { ChainPoint } from "../contract/management.ts";
import { MAX_USAGE_DAYS } from "../contract/time-intervals.ts";
import { DAY_MS } from "../contract/time-units.ts";
import { OstiaryError } from "../core/errors.ts";
import { VERSION } from "../core/version.ts";
import { addActionsCommands } from "./actions-commands.ts";
import { exportTo } from "./export-file.ts";
import { table, toJson, usdOf, wholeNumber } from "./output.ts";
import { linesOf, pointOf, reportOf } from "./verification.ts";

const MAX_COUNT = 999_999_999;
const KEY_ID = 'id of the key, as "keys list" shows it';

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
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", HELP)
    .exitOverride()
    .showHelpAfterError();
  const client = () => {
    const { baseUrl } = program.opts<{ baseUrl?: string }>();
    return new Ostiary({ baseURL: baseUrl });
  };
  const print = (value: unknown, lines: readonly string[]) => {
    const text = program.opts<{ json?: boolean }>().json === true ? toJson(value) : lines.join("\n");
    if (text !== "") process.stdout.write(`${text}\n`);
  };

  program
    .command("chat")
    .description("send a message to a model and print the answer as it arrives")
    .argument("<model>", 'id of the model, as "models" lists it')
    .argument("[prompt...]", "the message (default: standard input)")
    .option("--system <text>", "system message")
    .option(
      "--max-tokens <number>",
      "maximum length of the answer, in tokens",
      wholeNumber("--max-tokens", 1, MAX_COUNT),
    )
    .option("--temperature <number>", "randomness, 0 to 2", decimal)
    .action(
      async (
        model: string,
        words: string[],
        options: { system?: string; maxTokens?: number; temperature?: number },
      ) => {
        const content = words.length > 0 ? words.join(" ") : await standardInput();
        if (content.trim() === "") {
          throw new OstiaryError(
            "There is no prompt. Write it after the model, or pass it on standard input.",
          );
        }
        const system =
          options.system === undefined ? [] : [{ role: "system" as const, content: options.system }];
        const stream = client().chat.completions.stream(
          {
            model,
            messages: [...system, { role: "user", content }],
            ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
            ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
          },
          { signal },
        );
        const isPlain = program.opts<{ json?: boolean }>().json !== true;
        if (isPlain) stream.on("content", (delta) => void process.stdout.write(delta));
        const completion = await stream.finalCompletion();
        if (isPlain) process.stdout.write("\n");
        else print(completion, []);
      },
    );

  program
    .command("models")
    .description("list the models of the catalog")
    .action(async () => {
      const models = (await client().models.list({ signal })).data;
      print(
        models,
        table(
          ["id", "context", "input $/Mtok", "output $/Mtok"],
          models.map((model) => [
            model.id,
            String(model.context_tokens ?? ""),
            model.pricing?.input_usd_per_mtok ?? "free",
            model.pricing?.output_usd_per_mtok ?? "free",
          ]),
        ),
      );
    });

  const audit = program.command("audit").description("export and verify the account's audit log");
  audit
    .command("export")
    .description("export all matching entries, oldest first; resumes after interruptions")
    .addOption(new Option("--format <format>", "output format").choices(["ndjson", "csv"]).default("ndjson"))
    .option("-o, --output <file>", "file to write (default: standard output)")
    .option("--resume", "continue after the last complete line of the file")
    .option("--from <time>", "only entries from this date or time on, in UTC (2026-01-31 or RFC 3339)")
    .option("--to <time>", "only entries up to and including this date, or before this time, in UTC")
    .option("--key <key>", "only this key: its id or key ID")
    .option("--model <model>", "only this model; * matches any characters")
    .option("--upstream <name>", "only requests that this upstream answered or failed")
    .option("--status <status>", 'only this status, a class such as 4xx, or "error"')
    .option("--error-code <code>", "only this error code; * matches any characters")
    .option("--source <network>", "only requests from this address or CIDR block")
    .option(
      "--proof",
      "add what an export of a part of the log needs to be verified by itself (default for NDJSON)",
    )
    .option("--no-proof", "write only entries")
    .action(async (options: ExportCommand) => {
      const { output, resume, errorCode, proof, ...filters } = options;
      if (resume === true && output === undefined) throw new OstiaryError("--resume needs --output.");
      const selection: AuditExportParams = {
        ...filters,
        ...(errorCode === undefined ? {} : { error_code: errorCode }),
      };
      const params = { ...selection, proof: proof ?? (options.format === "ndjson" && isPart(selection)) };
      await exportTo({ client: client(), params, file: output ?? null, isResumed: resume === true, signal });
    });
  audit
    .command("verify")
    .description("verify that an export (NDJSON), or the service's log, is complete and unmodified")
    .argument("[file]", "the export; without it, the service verifies its own log")
    .option(
      "--expected <batch:digest>",
      "head of an earlier verification, which the log must contain; may be repeated for a file",
      chainPoints,
    )
    .option(
      "--removed-batches <number>",
      "number of batches deleted at the end of their retention, as the service reports it",
      wholeNumber("--removed-batches", 0, MAX_COUNT),
    )
    .action(async (file: string | undefined, options: VerifyCommand) => {
      if (file === undefined) {
        const verified = await verifyService(client(), options.expected, signal);
        return print(verified, reportOf({ isFile: false, ...outcomeOf(verified) }));
      }
      const verification = await verifyAuditExport(linesOf(file), options);
      const scope = scopeOf(verification);
      print(verification, reportOf({ isFile: true, ...outcomeOf(verification), scope }));
    });

  addActionsCommands(
    program
      .command("actions")
      .description("export and verify the account's audit trail; needs OSTIARY_MANAGEMENT_TOKEN"),
    { client: () => client().account, print, signal },
  );

  const keys = program
    .command("keys")
    .description("manage API keys; all commands except list need OSTIARY_MANAGEMENT_TOKEN");
  keys
    .command("list")
    .description("list keys and their use")
    .action(async () => {
      const found = await client().keys.list({ signal });
      print(
        found,
        table(
          ["id", "name", "key ID", "state", "last used", "requests today"],
          found.map((key) => [
            key.id,
            key.name,
            key.keyId,
            key.state,
            key.usage.lastUsedAt?.toISOString() ?? "never",
            String(key.usage.requestsLastDay),
          ]),
        ),
      );
    });
  keys
    .command("create")
    .description("create a key and print it; it is not shown again")
    .argument("<name>", "name of the key")
    .action(async (name: string) => {
      const created = await client().keys.create({ name }, { signal });
      print(created, [created.key]);
      note(`Created key ${created.keyId} (${created.name}). Store it now: it is not shown again.`);
    });
  keys
    .command("rotate")
    .description(
      "create a successor of a key and print it; it is not shown again, and the old key works until it is revoked",
    )
    .argument("<id>", KEY_ID)
    .option("--name <name>", "name of the successor")
    .option(
      "--idle-after <seconds>",
      "seconds without a request after which the old key counts as idle",
      wholeNumber("--idle-after", 0, MAX_COUNT),
    )
    .action(async (id: string, options: { name?: string; idleAfter?: number }) => {
      const params = { name: options.name, idleAfterSeconds: options.idleAfter };
      const created = await client().keys.rotate(id, params, { signal });
      print(created, [created.key]);
      note(`Created key ${created.keyId} (${created.name}). Move your deployments to it, then revoke ${id}.`);
    });
  keys
    .command("revoke")
    .description("revoke a key permanently")
    .argument("<id>", KEY_ID)
    .action(async (id: string) => {
      const revoked = await client().keys.revoke(id, { signal });
      print(revoked, [`Revoked key ${revoked.keyId} (${revoked.name}).`]);
    });

  program
    .command("usage")
    .description("show requests, tokens and cost")
    .option(
      "--days <number>",
      "number of past days, today included (default: 30)",
      wholeNumber("--days", 1, MAX_USAGE_DAYS.month),
    )
    .option("--from <time>", "from this date or time on, in UTC")
    .option("--to <time>", "up to and including this date, or up to this time, in UTC (default: now)")
    .addOption(
      new Option("--interval <interval>", "length of each row")
        .choices(["hour", "day", "month"])
        .default("day"),
    )
    .addOption(new Option("--by <what>", "group the rows").choices(["none", "model", "key"]).default("none"))
    .action(async ({ days, from, to, interval, by: groupBy }: UsageCommand) => {
      if (days !== undefined && from !== undefined) {
        throw new OstiaryError("--days and --from exclude each other.");
      }
      const range = { from: from ?? daysAgo((days ?? 30) - 1), to: to ?? new Date() };
      const summary = await client().usage.summary({ ...range, interval, groupBy }, { signal });
      const rows = [...summary.rows, { ...summary.total, start: null, model: null, key: null }];
      print(
        summary,
        table(
          ["from", groupBy === "none" ? "" : groupBy, "requests", "errors", "prompt", "completion", "cost $"],
          rows.map((row) => [
            row.start?.toISOString().slice(0, interval === "hour" ? 16 : 10) ?? "total",
            row.model ?? row.key?.name ?? "",
            String(row.requests),
            String(row.errors),
            String(row.promptTokens),
            String(row.completionTokens),
            usdOf(row.costNanoUsd),
          ]),
        ),
      );
    });
  return program;
}

interface UsageCommand {
  readonly days?: number;
  readonly from?: string;
  readonly to?: string;
  readonly interval: "hour" | "day" | "month";
  readonly by: "none" | "model" | "key";
}

interface ExportCommand {
  readonly format: "ndjson" | "csv";
  readonly output?: string;
  readonly resume?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly key?: string;
  readonly model?: string;
  readonly upstream?: string;
  readonly status?: string;
  readonly errorCode?: string;
  readonly source?: string;
  readonly proof?: boolean;
}

interface VerifyCommand {
  readonly expected?: readonly ChainPoint[];
  readonly removedBatches?: number;
}

/** Whether an export is limited to a part of the log: by any parameter other than its format. */
function isPart({ format: _, ...limits }: AuditExportParams): boolean {
  return Object.values(limits).some((value) => value !== undefined);
}

type Verified = Pick<ExportVerification, "head" | "entries"> & { readonly problems: readonly object[] };

function outcomeOf({ head, problems, entries }: Verified) {
  const end = head === null ? null : { number: head.batch, digest: head.digest };
  return { what: "entries", count: entries, problems, head: end };
}

/** What the export of a part of the log contains. */
function scopeOf({ complete, period, filter, leftOut }: ExportVerification): string[] {
  if (complete === null || complete === "log") return [];
  const filters = Object.entries(filter).map(([name, value]) => `${name}=${value}`);
  return [
    `period   ${period.from ?? "beginning"} to ${period.to ?? "end"}`,
    complete === "range" ? "complete every entry of the period" : `filter   ${filters.join(" ")}`,
    `left out ${leftOut} other entries of the same batches`,
  ];
}

async function verifyService(
  client: Ostiary,
  expected: readonly ChainPoint[] = [],
  signal: AbortSignal | undefined = undefined,
) {
  if (expected.length > 1) throw new OstiaryError("--expected can be repeated only for a file.");
  let report = await client.audit.verify({ expected: expected[0] }, { signal });
  let { entries } = report;
  const problems = [...report.problems];
  while (report.next != null) {
    report = await client.audit.verify({ after: report.next }, { signal });
    entries += report.entries;
    problems.push(...report.problems);
  }
  return { head: report.head, removedBatches: report.removedBatches, entries, problems };
}

function chainPoints(text: string, earlier: readonly ChainPoint[] = []): readonly ChainPoint[] {
  const { number, digest } = pointOf("batch", text);
  return [...earlier, { batch: number, digest }];
}

/** The date so many days before today, in UTC. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, "2026-11-22".length);
}

function decimal(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text)) throw new OstiaryError(`"${text}" is not a number.`);
  return Number(text);
}

/** What a pipe or file delivers; nothing if a person would have to type it. */
async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) return "";
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  return text;
}

/** Writes a note for people to standard error, apart from the output that scripts read. */
function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
