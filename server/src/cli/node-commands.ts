import type { Command } from "commander";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import { columns, orNone, usdOf } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `nodes …`: lists nodes that have reserved credit, and releases the credit of nodes that do not return. */
export function addNodeCommands(program: Command, { client, print }: CommandParts): void {
  const nodes = program
    .command("nodes")
    .description("list nodes with reserved credit, and release the credit of a node");

  nodes
    .command("list")
    .description("list nodes with reserved credit, oldest first")
    .action(async () => {
      const listed = await client().nodes.list();
      const rows = listed.nodes.map(({ id, label, seenAt, isAway, accounts, reservedNanoUsd }) => [
        id,
        isAway ? `away since ${seenAt.toISOString()}` : "running",
        `${usdOf(reservedNanoUsd)} of ${accounts} accounts`,
        label,
      ]);
      print(listed, orNone(columns(rows), "No nodes have reserved credit."));
    });

  nodes
    .command("release")
    .description(
      "release the credit of a node that will not return; its pending charges may not be collected",
    )
    .argument("<id>", 'the id, as "nodes list" shows it')
    .requiredOption("--reason <text>", "recorded in the audit trail")
    .option("--force", "release the credit of a node that was seen in the last minute, too", false)
    .action(async (id: string, { reason, force }: { reason: string; force: boolean }) => {
      if (!/^\d{1,18}$/.test(id))
        throw new OstiaryError(`"${id}" is not the id of a node. Find it with "nodes list".`);
      const released = await client().nodes.release(id, { reason, ...(force ? { force } : {}) });
      print(released, [`released   ${usdOf(released.amountNanoUsd)} of ${released.accounts} accounts`]);
    });
}
