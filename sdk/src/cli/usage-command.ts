import { type Command, Option } from "commander";
import { MAX_USAGE_DAYS } from "../contract/time-intervals.ts";
import { DAY_MS } from "../contract/time-units.ts";
import { OstiaryError } from "../core/errors.ts";
import type { CommandParts } from "./command-parts.ts";
import { table, usdOf, wholeNumber } from "./output.ts";

/** Adds `usage`. */
export function addUsageCommand(program: Command, { client, print, signal }: CommandParts): void {
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
      const rows = [
        ...summary.rows,
        { ...summary.total, start: null, model: null, key: null, isOther: false },
      ];
      print(
        summary,
        table(
          ["from", groupBy === "none" ? "" : groupBy, "requests", "errors", "prompt", "completion", "cost $"],
          rows.map((row) => [
            row.start?.toISOString().slice(0, interval === "hour" ? 16 : 10) ?? "total",
            row.model ?? row.key?.name ?? (row.isOther ? "others" : ""),
            String(row.requests),
            String(row.errors),
            String(row.promptTokens),
            String(row.completionTokens),
            usdOf(row.costNanoUsd),
          ]),
        ),
      );
    });
}

interface UsageCommand {
  readonly days?: number;
  readonly from?: string;
  readonly to?: string;
  readonly interval: "hour" | "day" | "month";
  readonly by: "none" | "model" | "key";
}

/** The date of the day that was this many days before today, in UTC. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, "2026-11-22".length);
}
