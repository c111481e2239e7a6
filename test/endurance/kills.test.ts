import { expect, it } from "vitest";
import { startOperatedService } from "../fixtures/operator.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { expectNothingLost, isDistributed, Load, signUpRich, startPricedModel } from "./books.ts";

const ROUNDS = 20;
const CLIENTS_OF_NODE = 8;
/** Answers before a kill: from hardly any to many. */
const MOST_ANSWERS = 80;

it(`nothing is lost and nothing charged twice in ${ROUNDS} kills at random moments${isDistributed ? " of two nodes" : ""}`, {
  timeout: 300_000,
}, async () => {
  await using model = await startPricedModel();
  const { env } = model;
  const first = await startOperatedService({ env });
  const nodes: (Service | null)[] = [first];
  const { databaseUrl } = first;
  if (isDistributed && databaseUrl !== undefined) nodes.push(await startService({ env, databaseUrl }));
  const folders = nodes.map((node) => node?.dataDir ?? "");
  const owner = await signUpRich(first);
  const load = new Load(owner.key);
  for (const index of nodes.keys()) load.start(CLIENTS_OF_NODE, () => nodes[index]?.baseUrl ?? null);
  for (let round = 0; round < ROUNDS; round++) {
    const target = load.seen.size + Math.ceil(Math.random() * MOST_ANSWERS);
    await expect.poll(() => load.seen.size, { interval: 2, timeout: 30_000 }).toBeGreaterThanOrEqual(target);
    const index = round % nodes.length;
    const victim = nodes[index];
    nodes[index] = null;
    await victim?.kill();
    nodes[index] = await startService({
      env,
      dataDir: folders[index] ?? "",
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
  }
  await load.stop();
  const [current] = nodes;
  if (current == null) throw new Error("there is no node");
  // What the other one still had to send is sent when it stops.
  for (const other of nodes.slice(1)) await other?.stop();
  await expectNothingLost(current, owner, load.seen);
  expect(load.seen.size).toBeGreaterThan(ROUNDS);
  for (const node of nodes) await node?.stop();
  await first[Symbol.asyncDispose]();
});
