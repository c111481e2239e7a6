import * as z from "zod";
import type { SpenderId } from "../../contract/ids.ts";
import type { PostgresCredit } from "../../credits/postgres-credit.ts";
import { Failure } from "../../errors/failure.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { reason } from "./inputs.ts";

/** The `id` of the node in the list. */
const spenderId = z
  .bigint()
  .min(1n)
  .max(2n ** 63n - 1n)
  .transform((id) => id as SpenderId);

/** Procedures about the nodes: the credit that they reserve, and whether they have the same settings. */
export function operatorNodesRouter({
  spenders,
  settingsComparison,
}: Pick<RpcServices, "spenders" | "settingsComparison">) {
  return router({
    /**
     * The nodes that hold reserved credit: a row for each start of a node. The row of a node that has ended stays until the
     * node is started again or its credit is released.
     */
    list: operatorProcedure.query(async () => ({
      /** The nodes. */
      nodes: await spenders.list(),
    })),

    /**
     * Compares the settings that all nodes must share: plans, catalog, prices, and the keys and retention of stored responses. Only nodes
     * of the same version are compared.
     */
    settings: operatorProcedure.query(async () => ({
      /** The running nodes. The first one is the node that answers. */
      nodes: await settingsComparison.compare(),
      /** The settings that others have with other values than the node that answers. Empty: there are none. */
      differences: settingsComparison.differences,
    })),

    /**
     * Releases the credit that a node has reserved, when the node will not return. If it returns after all, its pending
     * charges are collected as far as the accounts' credit reaches; the rest is recorded as uncollected. The same happens to
     * the requests that a running node is answering, so a node that was seen in the last minute is refused (`conflict`).
     */
    release: operatorProcedure
      .input(
        z.strictObject({
          id: spenderId,
          reason,
          /** Whether to release the credit of a node that was seen in the last minute, too. Default `false`. */
          force: z.boolean().default(false),
        }),
      )
      .mutation(async ({ ctx, input }) => {
        if (!input.force) await requireAbsence(spenders, input.id);
        const released = await spenders.release(input.id, input.reason, ctx.actor);
        if (released === null) {
          throw new Failure("not_found", "No such node exists. List the nodes to find its id.", {
            param: "id",
          });
        }
        return released;
      }),
  });
}

/** @throws {Failure} `conflict` if the node is running. */
async function requireAbsence(spenders: Pick<PostgresCredit, "list">, id: SpenderId): Promise<void> {
  const node = (await spenders.list()).find((spender) => spender.id === id);
  if (node === undefined || node.isAway) return;
  throw new Failure(
    "conflict",
    `The node (${node.label}) was seen in the last minute, and may be answering requests with this credit. Stop it first. If you are certain that it no longer runs, wait a minute, or force the release.`,
    { param: "id" },
  );
}
