import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FaultProxy } from "../fixtures/fault-proxy.ts";
import { type FaultyNode, type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST } from "./gated-model.ts";
import { isDistributed } from "./load.ts";
import { type Account, expectPaid, openAccount } from "./money.ts";
import { ask, askUntil, type Outcome, RECOVERY, statusesOf } from "./requests.ts";

const CREDIT = 1_000_000n * ANSWER_COST;
const ASKED_EVERY_MS = 25;
/** A fault lasts until this many requests have ended during it. */
const OUTCOMES_UNDER_FAULT = 20;

const UNHEARD = "does what it is asked and never answers existing connections again";

/** What happens to the connections between a node and a store, by what the store seems to do. */
const FAULTS: Readonly<Record<string, (way: FaultProxy) => unknown>> = {
  "breaks all connections": (way) => way.cut({ connections: "existing" }),
  "breaks all connections and accepts no new ones": (way) => way.cut(),
  "is slow": (way) => way.delay(200),
  "takes nothing for a while": (way) => way.stall({ direction: "to server" }),
  "answers nothing for a while": (way) => way.stall({ direction: "to client" }),
  "breaks connections before its answers arrive": (way) => way.loseAnswers(5),
  [UNHEARD]: (way) => way.blackHole({ direction: "to client", connections: "existing" }),
};

const FAULTS_OF_STORES = {
  database: {
    ...FAULTS,
    "commits and breaks connections before its answers arrive": (way: FaultProxy) =>
      way.loseAnswers(3, (statement) => /^commit\b/i.test(statement)),
  },
  redis: FAULTS,
};

let nodes: FaultyNodes;
let account: Account;
const outcomes = new Map<FaultyNode, Outcome[]>();
let load: NodeJS.Timeout;
const asked: Promise<unknown>[] = [];

beforeAll(async () => {
  if (!isDistributed) return;
  nodes = await startFaultyNodes({ AUDIT_DURABILITY: "disk" });
  account = await openAccount(nodes.operator, CREDIT);
  const ends = [nodes.node, nodes.other].map((node) => {
    const ended: Outcome[] = [];
    outcomes.set(node, ended);
    return { node, ended };
  });
  let count = 0;
  load = setInterval(() => {
    const end = ends[count++ % ends.length];
    if (end === undefined) return;
    const stream = count % 4 < 2;
    asked.push(ask(end.node.baseUrl, account.key, { stream }).then((outcome) => end.ended.push(outcome)));
  }, ASKED_EVERY_MS);
});

afterEach(({ task }) => nodes?.node.mend(task.result?.state === "fail"));

afterAll(async () => {
  clearInterval(load);
  await Promise.all(asked);
  await nodes?.[Symbol.asyncDispose]();
});

async function outcomesMore(node: FaultyNode, count: number): Promise<Outcome[]> {
  const ended = outcomes.get(node) ?? [];
  const from = ended.length;
  await expect.poll(() => ended.length, { interval: 5 }).toBeGreaterThanOrEqual(from + count);
  return ended.slice(from);
}

/** Expects the node to answer requests, and their entries to reach the database. */
async function expectRecovered({ baseUrl, metric, readiness }: FaultyNode): Promise<void> {
  await askUntil(({ status }) => status === 200, baseUrl, account.key);
  await expect.poll(readiness, RECOVERY).toBe(200);
  await expect.poll(() => metric(/^ostiary_recorder_lag_seconds$/), RECOVERY).toBeLessThan(1);
}

describe.skipIf(!isDistributed)("two nodes under load", () => {
  for (const store of ["database", "redis"] as const) {
    for (const [what, hurt] of Object.entries(FAULTS_OF_STORES[store])) {
      it(`recover when the ${store} of one ${what}`, async () => {
        const { node, other } = nodes;
        const way = node[store];
        await outcomesMore(node, 5);
        hurt(way);
        const [here, there] = await Promise.all([
          outcomesMore(node, OUTCOMES_UNDER_FAULT),
          outcomesMore(other, OUTCOMES_UNDER_FAULT),
        ]);
        // The node has to notice that a connection is silent for good; other faults end by themselves.
        if (what !== UNHEARD) way.heal();
        await expectRecovered(node);
        expect([...here, ...there].filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
        expect(statusesOf(there)).toEqual([200]);
      });
    }
  }

  it("lose no entry, charge nothing twice and leak no slot under all these faults", async () => {
    clearInterval(load);
    await Promise.all(asked);
    await nodes.settled();
    const ended = [...outcomes.values()].flat();
    const { uncollected } = await expectPaid(nodes.operator, account, ended);
    expect(uncollected).toBe(0n);
    const taken = async () => (await account.trpc.account.limits.query()).used.concurrent;
    await expect.poll(taken, { ...RECOVERY, interval: 200 }).toBe(0);
  });
});
