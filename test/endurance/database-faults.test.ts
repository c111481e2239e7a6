import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Matches } from "../fixtures/fault-proxy.ts";
import { COPIED } from "../fixtures/postgres-statements.ts";
import { PASSWORD, visit } from "../fixtures/user.ts";
import { type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST } from "./gated-model.ts";
import { isDistributed } from "./load.ts";
import { type Account, accountAt, expectPaid, openAccount } from "./money.ts";
import {
  answeredIds,
  ask,
  askTimes,
  askUntil,
  endOf,
  type Outcome,
  RECOVERY,
  statusesOf,
  statusOfGet,
} from "./requests.ts";

const CREDIT = 100_000n * ANSWER_COST;
/** SIGTERM ends the process within the drain time (1 second here) and 5 seconds; the rest is for a busy machine. */
const STOP_TIMEOUT_MS = 12_000;
/** A transaction whose client is silent may keep its locks for some seconds, and the batch has to be repeated after that. */
const TRANSACTION_TIMEOUT_MS = 30_000;

const DAY_AGO = new Date(Date.now() - 24 * 60 * 60_000);

let nodes: FaultyNodes;
let account: Account;
/** The outcomes of all chat requests of the account. */
const outcomes: Outcome[] = [];

beforeAll(async () => {
  if (!isDistributed) return;
  nodes = await startFaultyNodes();
  account = await openAccount(nodes.operator, CREDIT);
});

afterEach(({ task }) => nodes?.node.mend(task.result?.state === "fail"));

afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
});

/** Sends a request every 50 ms until the returned function is called, which adds the outcomes to {@link outcomes}. */
function keepAsking(): () => Promise<Outcome[]> {
  const asked: Promise<Outcome>[] = [];
  const timer = setInterval(() => asked.push(ask(nodes.node.baseUrl, account.key)), 50);
  onTestFinished(() => clearInterval(timer));
  return async () => {
    clearInterval(timer);
    const ended = await Promise.all(asked);
    outcomes.push(...ended);
    return ended;
  };
}

async function expectAllPaid(): Promise<void> {
  const { uncollected } = await expectPaid(nodes.operator, account, outcomes);
  expect(uncollected).toBe(0n);
}

/** How many entries wait for the database. */
function backlog(): Promise<number | null> {
  return nodes.node.metric(/^ostiary_recorder_waiting_entries$/);
}

/** Matches the statement that counts and charges entries, on a connection that has executed it before (or has not). */
function countOfEntries(isPrepared: boolean): Matches {
  const known = new Set<number>();
  return (statement, connection) => {
    if (!statement.includes("insert into audit_batches")) return false;
    const isKnown = known.has(connection);
    known.add(connection);
    return isKnown === isPrepared;
  };
}

describe.skipIf(!isDistributed)("a node whose connections to the database have gone silent", () => {
  it("opens new ones, and answers requests meanwhile", async () => {
    const { node } = nodes;
    outcomes.push(...(await askTimes(10, node.baseUrl, account.key)));
    const stopAsking = keepAsking();
    node.database.blackHole({ connections: "existing" });
    const readiness = await node.readiness();
    // That the entry of a later request is there shows that the node writes to the database again.
    const after = await askUntil(({ status }) => status === 200, node.baseUrl, account.key);
    outcomes.push(...after);
    const [requestId = ""] = answeredIds(after);
    await expect.poll(() => endOf(account.trpc.audit.get.query({ requestId })), RECOVERY).toBe("answered");
    await expect.poll(node.readiness, RECOVERY).toBe(200);
    const during = await stopAsking();
    expect(readiness).not.toBe("hung");
    expect(statusesOf(during)).toEqual([200]);
    expect(await statusOfGet(`${node.baseUrl}/v1/audit`, account.key)).toBe(200);
    await nodes.settled();
    await expectAllPaid();
  });

  // The transaction of a batch has its locks when its entries are copied, and does not end by itself.
  const moments: Readonly<Record<string, Matches>> = {
    "between two statements": countOfEntries(true),
    // The driver has the server describe a statement before it sends the parameters for the first time.
    "between a statement and its parameters": countOfEntries(false),
    "before lines that it copies": (statement) => statement.startsWith(COPIED),
  };
  for (const [moment, matches] of Object.entries(moments)) {
    it(`continues to record when one went silent in the middle of a batch, ${moment}`, {
      timeout: 300_000,
    }, async () => {
      const { node } = nodes;
      node.database.cut({ connections: "existing" });
      const hold = node.database.hold(matches);
      const stopAsking = keepAsking();
      await hold.caught;
      await stopAsking();
      outcomes.push(...(await askTimes(10, node.baseUrl, account.key)));
      await expect.poll(backlog, { timeout: TRANSACTION_TIMEOUT_MS, interval: 100 }).toBe(0);
      node.database.heal();
      await nodes.settled();
      await expectAllPaid();
    });
  }
});

describe.skipIf(!isDistributed)("a node whose process stands still in the middle of a batch", () => {
  it("keeps the locks of its accounts for seconds only, and records the batch when it continues", async () => {
    const { node, other, operator } = nodes;
    const shared = await openAccount(operator, CREDIT);
    const hold = node.database.hold((statement) => statement.startsWith(COPIED));
    const here = await askTimes(5, node.baseUrl, shared.key);
    await hold.caught;
    process.kill(node.service.pid, "SIGSTOP");
    const there = await askUntil(({ status }) => status === 200, other.baseUrl, shared.key, {
      withinMs: TRANSACTION_TIMEOUT_MS,
    }).finally(() => process.kill(node.service.pid, "SIGCONT"));
    expect(statusesOf(here)).toEqual([200]);
    node.database.heal();
    await nodes.settled();
    const { uncollected } = await expectPaid(operator, shared, [...here, ...there]);
    expect(uncollected).toBe(0n);
  });
});

describe.skipIf(!isDistributed)("a node whose packets to the database are all dropped", () => {
  it("answers every call within seconds, and serves requests from its reserves", async () => {
    const { node } = nodes;
    const { baseUrl } = node;
    const owner = accountAt(baseUrl, account);
    const unknown = await openAccount(nodes.operator, CREDIT);
    const { id: unusedKey } = await account.trpc.keys.create.mutate({ name: "to be revoked" });
    outcomes.push(...(await askTimes(10, baseUrl, account.key)));
    node.database.blackHole();
    const stopAsking = keepAsking();
    const [ready, audit, exported, unknownKey, ...procedures] = await Promise.all([
      node.readiness(),
      statusOfGet(`${baseUrl}/v1/audit`, account.key),
      statusOfGet(`${baseUrl}/v1/audit/export`, account.key),
      ask(baseUrl, unknown.key),
      endOf(owner.trpc.credits.balance.query()),
      endOf(owner.trpc.account.get.query()),
      endOf(owner.trpc.usage.summary.query({ from: DAY_AGO, to: new Date(), interval: "hour" })),
      endOf(owner.trpc.keys.revoke.mutate({ id: unusedKey })),
      endOf(visit(baseUrl).trpc.auth.signIn.mutate({ email: account.email, password: PASSWORD })),
    ]);
    const during = await stopAsking();
    expect({ ready, unknownKey: unknownKey.status, procedures }).toEqual({
      ready: 503,
      unknownKey: 503,
      procedures: ["refused", "refused", "refused", "refused", "refused"],
    });
    expect([audit, exported].filter((status) => status === 200 || status === "hung")).toEqual([]);
    expect(statusesOf(during)).toEqual([200]);
    node.database.heal();
    await expect.poll(node.readiness, RECOVERY).toBe(200);
    await nodes.settled();
    outcomes.push(...(await askUntil(({ status }) => status === 200, baseUrl, account.key)));
    await nodes.settled();
    await expectAllPaid();
  });

  it("stops on SIGTERM, and keeps in its journal what it could not write", async () => {
    const { node } = nodes;
    outcomes.push(...(await askTimes(10, node.baseUrl, account.key)));
    node.database.blackHole();
    const last = await askTimes(10, node.baseUrl, account.key);
    expect(statusesOf(last)).toEqual([200]);
    outcomes.push(...last);
    expect(await endOf(node.stop(), STOP_TIMEOUT_MS)).toBe("answered");
    node.database.heal();
    await node.start();
    await nodes.settled();
    await expectAllPaid();
  });
});
