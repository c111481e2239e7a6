import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Matches } from "../fixtures/fault-proxy.ts";
import { signInOperator } from "../fixtures/operator.ts";
import { type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST, waitsFor } from "./gated-model.ts";
import { isDistributed } from "./load.ts";
import { type Account, accountAt, ageClaims, ageReservations, expectPaid, openAccount } from "./money.ts";
import {
  ask,
  askTimes,
  askUntil,
  type ChatOptions,
  type Outcome,
  RECOVERY,
  statusesOf,
  statusOfGet,
} from "./requests.ts";

/** The number of answers that the credit of most accounts here pays for. */
const ANSWERS = 10;
const CREDIT = BigInt(ANSWERS) * ANSWER_COST;
/** An account with less credit than a request may cost gets a shorter answer, but no less than 16 tokens. */
const SHORTEST_COST = 16n * 10_000n;

/** Longer than a node keeps the surplus of an account without requests. */
const IDLE_MS = 6_000;

let nodes: FaultyNodes;
/** An account with much credit, the process that answered its only request, and when. */
let idle: { readonly account: Account; readonly pid: number; readonly sinceMs: number } | null = null;

beforeAll(async () => {
  if (isDistributed) nodes = await startFaultyNodes();
});

/** Returns the idle account, or makes a new one if the node's process is another one by now. */
async function idleAccount() {
  const { service, baseUrl } = nodes.node;
  if (idle?.pid === service.pid) return idle;
  const account = await openAccount(nodes.operator, 1_000n * CREDIT);
  expect((await ask(baseUrl, account.key)).status).toBe(200);
  idle = { account, pid: service.pid, sinceMs: performance.now() };
  return idle;
}

afterEach(({ task }) => nodes?.node.mend(task.result?.state === "fail"));

afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
});

/** Sends requests to the node, and resolves when all hold credit and wait for their answers behind `gate`. */
async function hold(
  account: Account,
  count: number,
  gate: string,
  asked: ChatOptions = {},
): Promise<Promise<Outcome[]>[]> {
  const before = nodes.model.waiting(gate);
  const answers = askTimes(count, nodes.node.baseUrl, account.key, { content: waitsFor(gate), ...asked });
  await expect.poll(() => nodes.model.waiting(gate), { interval: 5 }).toBe(before + count);
  // In an array, because an async function would wait for the promise itself.
  return [answers];
}

/** Sends requests until the account's credit is used up. */
function spendAll(baseUrl: string, { key }: Account): Promise<Outcome[]> {
  return askUntil(({ code }) => code === "credit_balance_exhausted", baseUrl, key);
}

/** Sends requests at the same time and repeats each one until it is answered. Returns all outcomes. */
async function answered(count: number, baseUrl: string, key: string): Promise<Outcome[]> {
  const one = () => askUntil(({ status }) => status === 200, baseUrl, key);
  return (await Promise.all(Array.from({ length: count }, one))).flat();
}

/** Matches the statement that makes an ask for credit take effect: its transaction's commit, or the ask itself outside of a transaction. */
function commitOfAsk(): Matches {
  /** Connections in a transaction, and whether the transaction concerns reserves of credit. */
  const transactions = new Map<number, boolean>();
  return (statement, connection) => {
    if (/^begin\b/i.test(statement)) transactions.set(connection, false);
    else if (/^commit\b/i.test(statement)) {
      const isAsk = transactions.get(connection) === true;
      transactions.delete(connection);
      return isAsk;
    } else if (/credit_reserv/.test(statement) && !/audit_/.test(statement)) {
      if (!transactions.has(connection)) return /\baccounts\b/.test(statement);
      transactions.set(connection, true);
    }
    return false;
  };
}

/** Matches the first statement of an ask, which locks the account. */
const lockForAsk: Matches = (statement) =>
  /\baccounts\b/.test(statement) && /for no key update/.test(statement);

describe.skipIf(!isDistributed)("a node that is cut off from the database", () => {
  it("keeps its reserve however long it is away, and other nodes do not get it", async () => {
    const { node, other, model, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const [answers] = await hold(account, ANSWERS - 1, "cut off");
    node.database.blackHole();
    model.open("cut off");
    const here = (await answers) ?? [];
    expect(statusesOf(here)).toEqual([200]);
    await ageReservations(other.service);
    const there = await askTimes(4, other.baseUrl, account.key);
    expect(there.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(there.filter(({ status }) => status === "hung" || status === "broken")).toEqual([]);
    node.database.heal();
    await nodes.settled();
    const { uncollected } = await expectPaid(operator, account, [...here, ...there]);
    expect(uncollected).toBe(0n);
  });

  it("frees what it had reserved for an answer that another node has given to the same idempotency key", async () => {
    const { node, other, model, operator } = nodes;
    // All of it is held. With more, the node would have some left, and release all together.
    const opened = await openAccount(operator, ANSWER_COST);
    const asked = { idempotencyKey: "twice", content: waitsFor("twice") };
    const [answers] = await hold(opened, 1, "twice", asked);
    const more = { amountNanoUsd: 2n * ANSWER_COST, reason: "test" };
    await operator.trpc.operator.accounts.grantCredits.mutate({ id: opened.accountId, ...more });
    const account = { ...opened, granted: opened.granted + more.amountNanoUsd };
    node.database.blackHole();
    model.open("twice");
    const here = (await answers) ?? [];
    await ageClaims(other.service);
    const there = [await ask(other.baseUrl, account.key, asked)];
    expect(statusesOf([...here, ...there])).toEqual([200]);
    node.database.heal();
    await nodes.settled();
    there.push(...(await spendAll(other.baseUrl, account)));
    await nodes.settled();
    const { balance, uncollected } = await expectPaid(operator, account, [...here, ...there]);
    expect(uncollected).toBe(ANSWER_COST);
    expect(balance).toBeLessThan(SHORTEST_COST);
  });

  it("and then killed has the charges in its journal paid from its reserve when it is back", async () => {
    const { node, other, model, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const [answers] = await hold(account, ANSWERS - 1, "killed");
    node.database.blackHole();
    model.open("killed");
    const here = (await answers) ?? [];
    expect(statusesOf(here)).toEqual([200]);
    await node.kill();
    node.database.heal();
    await ageReservations(other.service);
    const there = await askTimes(4, other.baseUrl, account.key);
    expect(there.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    await node.start();
    await nodes.settled();
    // What it had set aside and did not spend is free again.
    const rest = await spendAll(other.baseUrl, account);
    const { balance, uncollected } = await expectPaid(operator, account, [...here, ...there, ...rest]);
    expect(uncollected).toBe(0n);
    expect(balance).toBeLessThan(SHORTEST_COST);
  });

  it("charges each stream in flight, and then refuses no request of an account that has credit", async () => {
    const { node, model, operator } = nodes;
    const accounts = await Promise.all([1, 2, 3].map(() => openAccount(operator, CREDIT)));
    const streams = await Promise.all(
      accounts.map((account, index) => hold(account, ANSWERS / 2, `stream ${index}`, { stream: true })),
    );
    node.database.cut();
    await expect.poll(node.readiness, RECOVERY).toBe(503);
    for (const index of accounts.keys()) model.open(`stream ${index}`);
    const during = await Promise.all(streams.map(async ([answers]) => (await answers) ?? []));
    expect(statusesOf(during.flat())).toEqual([200]);
    node.database.heal();
    const after = await Promise.all(accounts.map(({ key }) => answered(ANSWERS / 2, node.baseUrl, key)));
    expect(after.flat().filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    const rest = await Promise.all(accounts.map((account) => spendAll(node.baseUrl, account)));
    await nodes.settled();
    for (const [index, account] of accounts.entries()) {
      const outcomes = [...(during[index] ?? []), ...(after[index] ?? []), ...(rest[index] ?? [])];
      const { cost, uncollected } = await expectPaid(operator, account, outcomes);
      expect({ cost, uncollected }).toEqual({ cost: CREDIT, uncollected: 0n });
    }
  });
});

describe.skipIf(!isDistributed)(
  "a node that does not receive the answer to its reservation of credit",
  () => {
    it("finds that credit at its next requests", async () => {
      const { node, operator } = nodes;
      const account = await openAccount(operator, 3n * ANSWER_COST);
      const lost = node.database.loseAnswers(3, commitOfAsk());
      const outcomes: Outcome[] = [];
      for (let count = 1; count <= 3; count++)
        outcomes.push(...(await answered(1, node.baseUrl, account.key)));
      expect(lost.lost).toBeGreaterThan(0);
      expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
      node.database.heal();
      await nodes.settled();
      await expectPaid(operator, account, outcomes);
    });
  },
);

describe.skipIf(!isDistributed)("an order to release credit that reaches the database late", () => {
  const moments = {
    // The account is not locked yet: the node goes on with another connection once it has given this one up.
    "before it has begun": { matching: () => lockForAsk, untilMs: 25_000 },
    // The account is locked, so that the node can't go on: the time is longer than any of its timeouts.
    "as it is committed": { matching: commitOfAsk, untilMs: 9_000 },
  };
  for (const [moment, { matching, untilMs }] of Object.entries(moments)) {
    it(`releases nothing that was reserved since (delayed ${moment})`, { timeout: 300_000 }, async () => {
      const { node, other, model, operator } = nodes;
      // This account becomes idle while the test runs; another test needs that.
      await idleAccount();
      const account = await openAccount(operator, CREDIT);
      // Free answers leave the node with credit that it does not need.
      model.bill = { prompt: 1, completion: 0 };
      const [free] = await hold(account, ANSWERS - 1, `idle: ${moment}`);
      model.open(`idle: ${moment}`);
      expect(statusesOf((await free) ?? [])).toEqual([200]);
      model.bill = null;
      await nodes.settled();

      const late = node.database.hold(matching());
      // The other node is short, so this one gives credit back.
      const wanted = await ask(other.baseUrl, account.key);
      await late.caught;
      const gate = `held: ${moment}`;
      let ended = 0;
      // There is credit for all these requests until the other node has been asked, so 402 is no final answer before.
      let isLast = false;
      const askHere = (count: number): Promise<Outcome[][]> => {
        const asked = {
          content: waitsFor(gate),
          timeoutMs: 60_000,
          everyMs: 500,
          withinMs: untilMs + 2 * RECOVERY.timeout,
        };
        const isEnd = ({ status }: Outcome) => status === 200 || (isLast && status === 402);
        const one = () => askUntil(isEnd, node.baseUrl, account.key, asked).finally(() => ended++);
        const all = Promise.all(Array.from({ length: count }, one));
        // Awaited below, unless the test fails before.
        all.catch(() => {});
        return all;
      };
      const releaseMs = performance.now() + untilMs;
      const orTooLate = async (isDone: () => boolean | Promise<boolean>) => {
        const isEnd = async () => (await isDone()) || performance.now() > releaseMs;
        await expect.poll(isEnd, { timeout: 2 * untilMs, interval: 100 }).toBe(true);
      };
      // When the node has given the credit back with another statement, it sets it aside again for these requests, if it can.
      await orTooLate(async () => (await account.trpc.credits.balance.query()).reservedNanoUsd < CREDIT / 2n);
      const here = askHere(ANSWERS - 1);
      await orTooLate(() => model.waiting(gate) === ANSWERS - 1);
      late.release();
      const there = await askTimes(ANSWERS - 1, other.baseUrl, account.key);
      isLast = true;
      await expect.poll(() => model.waiting(gate) + ended, RECOVERY).toBe(ANSWERS - 1);
      model.open(gate);
      const outcomes = [wanted, ...(await here).flat(), ...there];
      await nodes.settled();
      outcomes.push(...(await spendAll(other.baseUrl, account)));
      await nodes.settled();
      const { balance, uncollected } = await expectPaid(operator, account, outcomes);
      expect(uncollected).toBe(0n);
      expect(balance).toBeLessThan(SHORTEST_COST);
    });
  }
});

describe.skipIf(!isDistributed)("a node without a database", () => {
  it("serves accounts from its reserves, and answers all other requests within seconds", async () => {
    const { node, operator } = nodes;
    const without = await openAccount(operator, CREDIT);
    expect(await statusOfGet(`${node.baseUrl}/v1/models`, without.key)).toBe(200);
    const { account: known, sinceMs } = await idleAccount();
    await expect.poll(() => performance.now() - sinceMs).toBeGreaterThan(IDLE_MS);
    node.database.cut();
    const [atHand, none] = await Promise.all([
      askTimes(20, node.baseUrl, known.key),
      askTimes(40, node.baseUrl, without.key),
    ]);
    expect(statusesOf(none)).toEqual([503]);
    expect(none.filter(({ retryAfter }) => retryAfter === null)).toEqual([]);
    expect(statusesOf(atHand)).toEqual([200]);
    node.database.heal();
    const after = await answered(1, node.baseUrl, without.key);
    await nodes.settled();
    await expectPaid(operator, without, after);
    await expectPaid(operator, known, atHand);
  });
});

// The last test of this file, because it ends the other nodes.
describe.skipIf(!isDistributed)("a node that takes over from all others", () => {
  it("can use their credit; charges that one of them still reports are recorded as uncollected", async () => {
    const { node, model, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const [answers] = await hold(account, ANSWERS - 1, "replaced");
    node.database.blackHole();
    model.open("replaced");
    const here = (await answers) ?? [];
    expect(statusesOf(here)).toEqual([200]);
    await node.kill();
    node.database.heal();
    await using successor = await nodes.startThird({ OSTIARY_TAKE_OVER: "1" });
    const there = await spendAll(successor.baseUrl, account);
    expect(there.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(ANSWERS - 1);
    await node.start();
    await nodes.settled([node]);
    const operatorThere = await signInOperator(successor.baseUrl);
    const { cost, balance, uncollected } = await expectPaid(
      operatorThere,
      accountAt(successor.baseUrl, account),
      [...here, ...there],
    );
    expect(uncollected).toBe(cost - CREDIT + balance);
    expect(uncollected).toBeGreaterThan(0n);
  });
});
