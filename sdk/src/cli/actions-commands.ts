import type { Command } from "commander";
import { type ActionPoint, verifyActionsExport } from "../audit/verify-actions.ts";
import { OstiaryError } from "../core/errors.ts";
import type { RequestOptions } from "../core/transport.ts";
import { outputFile, writeAll } from "./output.ts";
import { linesOf, pointOf, reportOf } from "./verification.ts";

/** A client that exports and verifies actions: of an account, or of the service. */
export interface ActionsClient {
  exportActions(params: { after?: number }, options: RequestOptions): AsyncIterable<string>;
  verifyActions(
    params: { after?: number; expected?: ActionPoint | undefined },
    options: RequestOptions,
  ): Promise<Verified & { readonly next: number | null }>;
}

interface Verified {
  readonly head: ActionPoint | null;
  readonly actions: number;
  readonly problems: readonly object[];
}

export interface ActionsCommandParts {
  readonly client: () => ActionsClient;
  readonly print: (value: unknown, lines: readonly string[]) => void;
  readonly signal?: AbortSignal;
}

/** Adds `export` and `verify` to a command about actions. */
export function addActionsCommands(command: Command, { client, print, signal }: ActionsCommandParts): void {
  command
    .command("export")
    .description("export all changes as lines of JSON, oldest first")
    .option("-o, --output <file>", "file to write (default: standard output, or -)")
    .option("--after <position>", "begin after this position of the chain", position, 0)
    .action(async ({ output, after }: { output?: string; after: number }) =>
      writeAll(terminated(client().exportActions({ after }, { signal })), outputFile(output)),
    );
  command
    .command("verify")
    .description("verify that an export, or the service's audit trail, is complete and unmodified")
    .argument(
      "[file]",
      "the export, - for standard input; without it, the service verifies its own audit trail",
    )
    .option("--expected <position:digest>", "head of an earlier verification", point)
    .action(async (file: string | undefined, { expected }: { expected?: ActionPoint }) => {
      const report =
        file === undefined
          ? await verifyService(client(), expected, signal)
          : await verifyActionsExport(linesOf(file, signal), { expected });
      const { head, problems, actions } = report;
      const outcome = {
        isFile: file !== undefined,
        what: "actions",
        count: actions,
        problems,
        head: head === null ? null : { number: head.position, digest: head.digest },
      };
      print(report, reportOf(outcome));
    });
}

async function* terminated(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  for await (const line of lines) yield `${line}\n`;
}

async function verifyService(
  client: ActionsClient,
  expected: ActionPoint | undefined,
  signal: AbortSignal | undefined,
): Promise<Verified> {
  let report = await client.verifyActions({ expected }, { signal });
  let { actions } = report;
  const problems = [...report.problems];
  while (report.next != null) {
    report = await client.verifyActions({ after: report.next }, { signal });
    actions += report.actions;
    problems.push(...report.problems);
  }
  return { head: report.head, actions, problems };
}

function position(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new OstiaryError("--after must be a position, such as 120.");
  return Number(text);
}

function point(text: string): ActionPoint {
  const { number, digest } = pointOf("position", text);
  return { position: number, digest };
}
