import type { AuditFilters } from "../filters.ts";
import type { ExportFormat } from "./export-run.ts";

const SCHEDULE_KINDS = ["cron", "github"] as const;
/** What runs the export: cron on a machine of the user, or a workflow of GitHub Actions. */
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number];

interface ScheduledExport {
  readonly format: ExportFormat;
  /** The period of the filters has no meaning for a schedule and is left out. */
  readonly filters: AuditFilters;
  /** Scheme, host and port of the service. */
  readonly serviceUrl: string;
}

/** The secret that the schedule reads from its environment. */
export const TOKEN_VARIABLE = "OSTIARY_MANAGEMENT_TOKEN";

/** The address of an export of one day; `$DAY` stands for the day. NDJSON has the proof that a part of the log needs. */
function addressOf({ format, filters, serviceUrl }: ScheduledExport): string {
  const { from: _, to: __, ...others } = filters;
  const proof = format === "ndjson" ? true : undefined;
  const given = Object.entries({ format, proof, ...others }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const query = new URLSearchParams(given).toString().replaceAll("*", "%2A").replaceAll("'", "%27");
  return `${serviceUrl.replace(/\/$/, "")}/v1/audit/export?${query}&from=$DAY&to=$DAY`;
}

/** Commands of a POSIX shell that save the entries of the day before, UTC, as a file. A file that is cut off is not kept. */
export function exportCommands(scheduled: ScheduledExport): readonly string[] {
  const file = `audit-$DAY.${scheduled.format}`;
  return [
    "DAY=$(date -u -d yesterday +%F)",
    `curl -fsS --compressed -H "Authorization: Bearer $${TOKEN_VARIABLE}" -o "${file}.part" "${addressOf(scheduled)}"`,
    `mv "${file}.part" "${file}"`,
  ];
}

/** A line of a crontab that exports each day. cron reads a percent sign as a line break, so each is escaped. */
export function cronLine(scheduled: ScheduledExport): string {
  return `15 0 * * * ${exportCommands(scheduled).join(" && ").replaceAll("%", "\\%")}`;
}

/** A workflow of GitHub Actions that exports each day and keeps the file as an artifact. */
export function githubWorkflow(scheduled: ScheduledExport): string {
  const commands = exportCommands(scheduled).map((command) => `          ${command}`);
  return [
    "name: Export request log",
    "on:",
    "  schedule:",
    '    - cron: "15 0 * * *"',
    "jobs:",
    "  export:",
    "    runs-on: ubuntu-latest",
    "    steps:",
    "      - run: |",
    ...commands,
    "        env:",
    `          ${TOKEN_VARIABLE}: \${{ secrets.${TOKEN_VARIABLE} }}`,
    "      - uses: actions/upload-artifact@v4",
    "        with:",
    "          name: request-log",
    `          path: audit-*.${scheduled.format}`,
    "",
  ].join("\n");
}
