import { type Command, Option } from "commander";
import { type ExportVerification, verifyAuditExport } from "../audit/verify-export.ts";
import type { Ostiary } from "../client.ts";
import type { AuditExportParams } from "../contract/audit.ts";
import type { ChainPoint } from "../contract/management.ts";
import { OstiaryError } from "../core/errors.ts";
import { type CommandParts, MAX_COUNT } from "./command-parts.ts";
import { exportTo } from "./export-file.ts";
import { outputFile, wholeNumber } from "./output.ts";
import { linesOf, pointOf, reportOf } from "./verification.ts";

/** Adds `audit export` and `audit verify`. */
export function addAuditCommands(program: Command, { client, print, signal }: CommandParts): void {
  const audit = program.command("audit").description("export and verify the account's audit log");
  audit
    .command("export")
    .description("export all matching entries, oldest first; resumes after interruptions")
    .addOption(new Option("--format <format>", "output format").choices(["ndjson", "csv"]).default("ndjson"))
    .option("-o, --output <file>", "file to write (default: standard output, or -)")
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
      const file = outputFile(output);
      if (resume === true && file === null) throw new OstiaryError("--resume needs --output with a file.");
      const selection: AuditExportParams = {
        ...filters,
        ...(errorCode === undefined ? {} : { error_code: errorCode }),
      };
      const params = { ...selection, proof: proof ?? (options.format === "ndjson" && isPart(selection)) };
      await exportTo({ client: client(), params, file, isResumed: resume === true, signal });
    });
  audit
    .command("verify")
    .description("verify that an export (NDJSON), or the service's log, is complete and unmodified")
    .argument("[file]", "the export, - for standard input; without it, the service verifies its own log")
    .option(
      "--expected <batch:digest>",
      "head of an earlier verification, which the log must contain; may be repeated for a file",
      chainPoints,
    )
    .option(
      "--removed-batches <number>",
      'number of batches deleted at the end of their retention, which "audit verify" prints without a file',
      wholeNumber("--removed-batches", 0, MAX_COUNT),
    )
    .action(async (file: string | undefined, options: VerifyCommand) => {
      if (file === undefined) {
        const verified = await verifyService(client(), options.expected ?? [], signal);
        const notes = removedNote(verified.removedBatches);
        return print(verified, reportOf({ isFile: false, ...outcomeOf(verified), notes }));
      }
      const verification = await verifyAuditExport(linesOf(file, signal), options);
      const notes = [...scopeOf(verification), ...lateBeginningNote(verification, options)];
      print(verification, reportOf({ isFile: true, ...outcomeOf(verification), notes }));
    });
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

/** What a verification of a file and one by the service have in common. */
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

/** How many batches of the service's log are deleted. */
function removedNote(batches: number): string[] {
  return batches === 0 ? [] : [`removed  ${batches} batches, deleted at the end of their retention`];
}

/** What to do about an export of the whole log that does not begin with its first batch, as all do once retention has deleted that. */
function lateBeginningNote(
  { first, problems, period, filter }: ExportVerification,
  { removedBatches = 0 }: VerifyCommand,
): string[] {
  const isPart = period.from !== null || period.to !== null || Object.keys(filter).length > 0;
  const isMissing = problems.some(({ problem }) => problem === "batches_missing");
  if (isPart || !isMissing || first === null || first <= removedBatches + 1) return [];
  return [
    `The first batch is ${first}. If the service has deleted the earlier ones at the end of their retention, pass --removed-batches with their number, which "audit verify" prints without a file.`,
  ];
}

/** Has the service verify its own log, call by call. */
async function verifyService(client: Ostiary, expected: readonly ChainPoint[], signal: AbortSignal) {
  const [point, ...others] = expected;
  if (others.length > 0) throw new OstiaryError("--expected can be repeated only for a file.");
  let report = await client.audit.verify({ expected: point }, { signal });
  let { entries } = report;
  const problems: object[] = [...report.problems];
  // The service has no digest of such a batch to compare it with.
  if (point !== undefined && point.batch < report.removedBatches)
    problems.push({ problem: "expected_not_included", batch: point.batch });
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
