import process from "node:process";
import type { Command } from "commander";
import type { NodeSettings } from "../../../sdk/src/contract/operator.ts";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import { SET_BY } from "../contract/node-settings.ts";
import { columns, orNone, usdOf } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `nodes …`: lists nodes that have reserved credit, compares their settings, and releases the credit of nodes that do not return. */
export function addNodeCommands(program: Command, { client, print }: CommandParts): void {
  const nodes = program
    .command("nodes")
    .description("list nodes with reserved credit, compare settings, and release the credit of a node");

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
    .command("settings")
    .description(
      "compare the plans, catalogs, prices, and keys of stored responses of the running nodes; exit code 1 if they differ",
    )
    .action(async () => {
      const compared = await client().nodes.settings();
      print(compared, [
        ...columns([
          ["version", "plans", "catalog", "prices", "responses", "node"],
          ...compared.nodes.map(settingsRow),
        ]),
        ...orNone(compared.differences.map(describeDifference), describeAgreement(compared)),
      ]);
      if (compared.differences.length > 0) process.exitCode = 1;
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

function settingsRow(
  { version, digests, label }: NodeSettings["nodes"][number],
  index: number,
): readonly string[] {
  const { plans, catalog, prices, responses } = digests ?? {
    plans: "-",
    catalog: "-",
    prices: "-",
    responses: "-",
  };
  return [
    version ?? "unknown",
    plans,
    catalog,
    prices,
    responses,
    index === 0 ? `${label} (answers)` : label,
  ];
}

function describeDifference({ setting, nodes, since }: NodeSettings["differences"][number]): string {
  return `Other ${setting} since ${since.toISOString()} on: ${nodes.join("; ")}. ${SET_BY[setting]} must be the same on all nodes.`;
}

/** Nodes of another version are not compared, so their settings are not known to be the same. */
function describeAgreement({ nodes: [own, ...others] }: NodeSettings): string {
  const unknown = others.filter(({ version }) => version !== own?.version).length;
  if (unknown > 0) return `Nodes of another version, which were not compared: ${unknown}.`;
  return others.length === 0 ? "No other node runs." : "All nodes have the same settings.";
}
