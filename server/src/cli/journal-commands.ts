import process from "node:process";
import type { Command } from "commander";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import type { RejectedLine } from "../../../sdk/src/operator.ts";
import { columns, usdOf, wholeNumber } from "./output.ts";
import type { CommandParts } from "./run.ts";

const LINE_ID = /^[0-9a-f]{12}$/;
const SHOWN_CHARACTERS = 80;

/** `journal …`: lines of a node's journal that could not be read or recorded. */
export function addJournalCommands(program: Command, { client, print }: CommandParts): void {
  const journal = program
    .command("journal")
    .description(
      "inspect, replay and discard rejected lines of a node's journal; with several nodes, set OSTIARY_BASE_URL to the node's own address",
    );

  journal
    .command("list")
    .description("list the rejected lines of the answering node")
    .option("--limit <number>", "lines, 1 to 1000", wholeNumber("--limit", 1, 1_000), 100)
    .action(async ({ limit }: { limit: number }) => {
      const found = await client().journal.list({ limit });
      const rows = found.lines.map((line) => [line.id, `${line.file}:${line.line}`, ...describe(line)]);
      const lines = [
        `node    ${found.node}`,
        `folder  ${found.folder}`,
        ...(rows.length === 0 && found.files.length === 0 ? ["No rejected lines."] : columns(rows)),
        ...(found.more > 0 ? [`and ${found.more} more`] : []),
        ...found.files.map(
          ({ file, problem }) =>
            `${file}  cannot be read: ${problem}. Repair or remove the file on its machine.`,
        ),
      ];
      print(found, lines);
    });

  journal
    .command("show")
    .description("print the text of a line; with --json, exactly as it is")
    .argument("<id>", 'id of the line, as "journal list" shows it', idOf)
    .action(async (id: string) => {
      const line = await client().journal.get(id);
      print(line, [printable(line.text)]);
    });

  journal
    .command("replay")
    .description("record and charge the requests of lines; without ids, of all readable lines")
    .argument("[ids...]", 'ids of the lines, as "journal list" shows them')
    .option("--with <text>", "the repaired text of the line; requires exactly one id")
    .action(async (given: string[], options: { with?: string }) => {
      if (options.with !== undefined && given.length !== 1) {
        throw new OstiaryError("--with replaces one line. Give exactly one id.");
      }
      const outcome = await client().journal.replay({
        ids: given.length === 0 ? undefined : given.map(idOf),
        replacement: options.with,
      });
      print(outcome, [
        `${outcome.replayed} recorded`,
        ...outcome.notReplayed.map(
          ({ id, file, line, reason }) => `${id}  ${file}:${line}  not recorded: ${reason}`,
        ),
      ]);
      if (outcome.notReplayed.length > 0) process.exitCode = 1;
    });

  journal
    .command("discard")
    .description("delete lines without recording or charging their requests")
    .argument("<ids...>", 'ids of the lines, as "journal list" shows them')
    .requiredOption("--reason <text>", "recorded in the audit trail")
    .action(async (given: string[], { reason }: { reason: string }) => {
      const outcome = await client().journal.discard({ ids: given.map(idOf), reason });
      print(outcome, [`${outcome.discarded} discarded`]);
    });
}

function idOf(text: string): string {
  if (!LINE_ID.test(text))
    throw new OstiaryError(`"${text}" is not the id of a line. Find it with "journal list".`);
  return text;
}

function describe({ kind, problem, request, text }: RejectedLine): string[] {
  if (request === null) return [`cannot be read: ${problem}`, printable(text.slice(0, SHOWN_CHARACTERS))];
  const what = kind === "begun" ? "begun" : usdOf(request.costNanoUsd);
  return [`${what}, account ${request.accountId}, at ${request.at.toISOString()}`, request.requestId];
}

/** Replaces control characters: a damaged line may contain any bytes, which must not reach the terminal. With --json it has them all. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, "·");
}
