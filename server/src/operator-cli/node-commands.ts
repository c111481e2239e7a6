import type { Command } from "commander";
import type { SpenderId } from "../credits/credit-store.ts";
import { CliError } from "./cli-error.ts";
import { usdOf } from "./money.ts";
import { columns } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `nodes …`: lists nodes with reserved credit and releases it when a node does not return. */
export function addNodeCommands(program: Command, { connection, output }: CommandParts): void {
  const nodes = program.command("nodes").description("nodes and the credit that they have reserved");

  nodes
    .command("list")
    .description("list nodes with reserved credit, oldest first")
    .action(async () => {
      const listed = await connection().client().operator.nodes.list.query();
      const rows = listed.nodes.map(({ id, label, seenAt, isAway, accounts, reservedNanoUsd }) => [
        String(id),
        isAway ? `away since ${seenAt.toISOString()}` : "running",
        `${usdOf(reservedNanoUsd)} of ${accounts} accounts`,
        label,
      ]);
      output().print(listed, columns(rows));
    });

  nodes
    .command("release")
    .description(
      "release the credit of a node that will not return; its pending charges may not be collected",
    )
    .argument("<id>", 'the id, as "nodes list" shows it')
    .requiredOption("--reason <text>", "recorded in the audit trail")
    .action(async (id: string, { reason }: { reason: string }) => {
      if (!/^\d{1,18}$/.test(id))
        throw new CliError(`"${id}" is not the id of a node. Find it with "nodes list".`);
      const released = await connection()
        .client()
        .operator.nodes.release.mutate({ id: BigInt(id) as SpenderId, reason });
      output().print(released, [
        `released   ${usdOf(released.amountNanoUsd)} of ${released.accounts} accounts`,
      ]);
    });
}
