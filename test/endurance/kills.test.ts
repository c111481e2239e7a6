import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { startOperatedService } from "../fixtures/operator.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { expectNothingLost, isDistributed, Load, signUpFunded, startPricedModel } from "./load.ts";

const CLIENTS_OF_NODE = 8;
/** Of these, how many go on while the other node starts, with a pause between requests: it needs the processors. */
const CLIENTS_DURING_START = 2;
const PAUSE_MS = 10;
/** The number of answers before a kill is random, and this at most. */
const MAX_ANSWERS = 80;

/** For each durability of audit entries, how many kills, and whether a node's data folder is lost with it. */
const DURABILITIES = {
  journal: { rounds: 20, losesFolder: false },
  disk: { rounds: 5, losesFolder: false },
  // An answer waits until its entry is in the database, so the loss of a node's folder loses nothing.
  database: { rounds: 5, losesFolder: isDistributed },
} as const;

for (const [durability, { rounds, losesFolder }] of Object.entries(DURABILITIES)) {
  const ofNodes = isDistributed ? " of two nodes" : "";
  const what = losesFolder
    ? "kills at random moments, each with the loss of the data folder,"
    : "kills at random moments";
  it(`nothing is lost and nothing charged twice in ${rounds} ${what}${ofNodes} (AUDIT_DURABILITY=${durability})`, {
    timeout: 600_000,
  }, async () => {
    await using model = await startPricedModel();
    const env = { ...model.env, AUDIT_DURABILITY: durability };
    const first = await startOperatedService({ env });
    const nodes: (Service | null)[] = [first];
    const { databaseUrl } = first;
    const shared = databaseUrl === undefined ? {} : { databaseUrl };
    if (isDistributed) nodes.push(await startService({ env, ...shared }));
    const folders = new Set(nodes.flatMap((node) => node?.dataDir ?? []));
    const owner = await signUpFunded(first);
    const load = new Load(owner.key);
    for (const index of nodes.keys()) {
      load.start(CLIENTS_DURING_START, () => nodes[index]?.baseUrl ?? null, PAUSE_MS);
      load.start(CLIENTS_OF_NODE - CLIENTS_DURING_START, () =>
        nodes.includes(null) ? null : (nodes[index]?.baseUrl ?? null),
      );
    }
    for (let round = 0; round < rounds; round++) {
      const target = load.seen.size + Math.ceil(Math.random() * MAX_ANSWERS);
      await expect
        .poll(() => load.seen.size, { interval: 2, timeout: 30_000 })
        .toBeGreaterThanOrEqual(target);
      const index = round % nodes.length;
      const victim = nodes[index];
      if (victim == null) throw new Error("there is no node");
      nodes[index] = null;
      await victim.kill();
      if (losesFolder) await rm(victim.dataDir, { recursive: true, force: true });
      const successor = await startService({
        env,
        ...shared,
        ...(losesFolder ? {} : { dataDir: victim.dataDir }),
      });
      folders.add(successor.dataDir);
      nodes[index] = successor;
    }
    await load.stop();
    const [current] = nodes;
    if (current == null) throw new Error("there is no node");
    // The other node sends its remaining entries when it stops.
    for (const other of nodes.slice(1)) await other?.stop();
    await expectNothingLost(current, owner, load.seen);
    expect(load.seen.size).toBeGreaterThan(rounds);
    for (const node of nodes) await node?.stop();
    await first[Symbol.asyncDispose]();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });
}
