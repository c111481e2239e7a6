import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PASSWORD, visit } from "../fixtures/user.ts";
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
} from "./asking.ts";
import { isDistributed } from "./books.ts";
import { type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST } from "./gated-model.ts";
import { type Account, accountAt, expectPaid, openAccount } from "./money.ts";

const CREDIT = 100_000n * ANSWER_COST;
/** SIGTERM ends the process within the drain time, a second here, and 5 seconds; the rest is for a busy machine. */
const STOP_TIMEOUT_MS = 12_000;
/** How long PostgreSQL may keep a transaction whose client is silent, and the time to start it anew after that. */

const DAY_AGO = new Date(Date.now() - 24 * 60 * 60_000);

let nodes: FaultyNodes;
let account: Account;
/** All that was asked of the model, for the account. */
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

/** Asks now and then until the returned function is called; notes in {@link outcomes} what came of it. */
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

describe.skipIf(!isDistributed)("a node whose connections to the database have gone silent", () => {
  it("opens others, and answers all the while", async () => {
    const { node } = nodes;
    outcomes.push(...(await askTimes(10, node.baseUrl, account.key)));
    const stopAsking = keepAsking();
    node.database.blackHole({ connections: "existing" });
    const readiness = await node.readiness();
    // Entries that came after it, and no others, tell that the way is open again.
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
});

describe.skipIf(!isDistributed)("a node of which nothing reaches the database", () => {
  it("answers everything within seconds, and requests with credit at hand as ever", async () => {
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

  it("ends when it is told to, and keeps in its journal what it could not write", async () => {
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
