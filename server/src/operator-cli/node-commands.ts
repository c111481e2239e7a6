import type { Command } from "commander";
import type { SpenderId } from "../credits/credit-store.ts";
import { CliError } from "./cli-error.ts";
import { usdOf } from "./money.ts";
import { columns } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `nodes …`: the nodes that have credit set aside, and releasing it when one does not return. */
export function addNodeCommands(program: Command, { connection, output }: CommandParts): void {
  const nodes = program.command("nodes").description("nodes that have credit of accounts set aside");

  nodes
    .command("list")
    .description("each life of a node that has credit set aside, oldest first")
    .action(async () => {
      const listed = await connection().client().operator.nodes.list.query();
      const rows = listed.nodes.map(({ id, label, seenAt, isAway, accounts, reservedNanoUsd }) => [
        String(id),
        isAway ? `away since ${seenAt.toISOString()}` : "at work",
        `${usdOf(reservedNanoUsd)} of ${accounts} accounts`,
        label,
      ]);
      output().print(listed, columns(rows));
    });

  nodes
    .command("release")
    .description(
      "release the credit of a node that will not return; what it still owes may then not be collected",
    )
    .argument("<id>", 'as "nodes list" shows it')
    .requiredOption("--reason <text>", "recorded with the release")
    .action(async (id: string, { reason }: { reason: string }) => {
      if (!/^\d{1,18}$/.test(id)) throw new CliError(`"${id}" is no id of a node. "nodes list" shows them.`);
      const spender = BigInt(id) as SpenderId;
      const released = await connection().client().operator.nodes.release.mutate({ spender, reason });
      output().print(released, [
        `released   ${usdOf(released.amountNanoUsd)} of ${released.accounts} accounts`,
      ]);
    });
}
