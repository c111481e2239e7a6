import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Matches } from "../fixtures/fault-proxy.ts";
import { signInOperator } from "../fixtures/operator.ts";
import {
  type Asked,
  ask,
  askTimes,
  askUntil,
  type Outcome,
  RECOVERY,
  statusesOf,
  statusOfGet,
} from "./asking.ts";
import { isDistributed } from "./books.ts";
import { type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST, waitsFor } from "./gated-model.ts";
import { type Account, accountAt, ageReservations, expectPaid, openAccount } from "./money.ts";

/** The credit of most accounts here: for so many answers. */
const ANSWERS = 10;
const CREDIT = BigInt(ANSWERS) * ANSWER_COST;
/** Of the shortest answer that is given where there is less credit than a request may take: 16 tokens. */
const SHORTEST_COST = 16n * 10_000n;
/** A fault that lasts longer than any wait of a node for its database. */
const LATE_MS = 9_000;

/** After so long an account counts as idle. */
const IDLE_MS = 6_000;

let nodes: FaultyNodes;
/** An account with much credit that had one answer of a process of the node, and when. */
let idle: { readonly account: Account; readonly pid: number; readonly sinceMs: number } | null = null;

beforeAll(async () => {
  if (isDistributed) nodes = await startFaultyNodes();
});

/** The idle account; a new one where the process that had answered it is no more. */
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

/** Requests at the node that hold credit, and whose answers wait for `gate`. */
async function hold(
  account: Account,
  count: number,
  gate: string,
  asked: Asked = {},
): Promise<Promise<Outcome[]>[]> {
  const before = nodes.model.waiting(gate);
  const answers = askTimes(count, nodes.node.baseUrl, account.key, { content: waitsFor(gate), ...asked });
  await expect.poll(() => nodes.model.waiting(gate), { interval: 5 }).toBe(before + count);
  // Not the promise itself: it would be waited for.
  return [answers];
}

/** Asks until credit is used up. */
function spendAll(baseUrl: string, { key }: Account): Promise<Outcome[]> {
  return askUntil(({ code }) => code === "credit_balance_exhausted", baseUrl, key);
}

/** Resolves when as many requests, each sent again while the service can't answer it, have been answered. */
async function answered(count: number, baseUrl: string, key: string): Promise<Outcome[]> {
  const one = () => askUntil(({ status }) => status === 200, baseUrl, key);
  return (await Promise.all(Array.from({ length: count }, one))).flat();
}

/** Matches what makes an ask for credit take effect: its transaction's commit, or the statement where there is no transaction. */
function commitOfAsk(): Matches {
  /** Connections with a transaction, and whether it is about credit that is set aside. */
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

/** Matches the statement that locks the account for an ask: nothing of it is done when it comes. */
const lockForAsk: Matches = (statement) =>
  /\baccounts\b/.test(statement) && /for no key update/.test(statement);

describe.skipIf(!isDistributed)("a node that is cut off from the database", () => {
  it("has what it spent kept for it, however long that looks, and nobody else gets it", async () => {
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

  it("and is killed with charges in its journal has them paid for when it is back", async () => {
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
    // What it had set aside and did not spend is free for all again.
    const rest = await spendAll(other.baseUrl, account);
    const { balance, uncollected } = await expectPaid(operator, account, [...here, ...there, ...rest]);
    expect(uncollected).toBe(0n);
    expect(balance).toBeLessThan(SHORTEST_COST);
  });

  it("with streams in flight charges each, and refuses nobody who has credit when the database is back", async () => {
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

describe.skipIf(!isDistributed)("answers of the database that are lost as credit is set aside", () => {
  it("leave the account's credit where its requests find it", async () => {
    const { node, operator } = nodes;
    const account = await openAccount(operator, 3n * ANSWER_COST);
    const lost = node.database.loseAnswers(3, commitOfAsk());
    const outcomes: Outcome[] = [];
    for (let count = 1; count <= 3; count++) outcomes.push(...(await answered(1, node.baseUrl, account.key)));
    expect(lost.lost).toBeGreaterThan(0);
    expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    node.database.heal();
    await nodes.settled();
    await expectPaid(operator, account, outcomes);
  });
});

describe.skipIf(!isDistributed)("credit that a node gives back too late", () => {
  const moments: Readonly<Record<string, () => Matches>> = {
    "before it has begun": () => lockForAsk,
    "as it is committed": commitOfAsk,
  };
  for (const [moment, matching] of Object.entries(moments)) {
    it(`is not taken from what was set aside since: held ${moment}`, { timeout: 120_000 }, async () => {
      const { node, other, model, operator } = nodes;
      // Idle while this test takes its time.
      await idleAccount();
      const account = await openAccount(operator, CREDIT);
      // Answers that take nothing leave the node with credit that it does not need.
      model.bill = { prompt: 0, completion: 0 };
      const [free] = await hold(account, ANSWERS - 1, `idle: ${moment}`);
      model.open(`idle: ${moment}`);
      expect(statusesOf((await free) ?? [])).toEqual([200]);
      model.bill = null;
      await nodes.settled();

      const late = node.database.hold(matching());
      // Wanted elsewhere, it is given back.
      const wanted = await ask(other.baseUrl, account.key);
      await late.caught;
      const gate = `held: ${moment}`;
      let ended = 0;
      // Until the other node has had its turn there is credit for all of them.
      let isLast = false;
      const askHere = (count: number): Promise<Outcome[][]> => {
        const asked = {
          content: waitsFor(gate),
          timeoutMs: 60_000,
          everyMs: 500,
          withinMs: LATE_MS + 2 * RECOVERY.timeout,
        };
        const isEnd = ({ status }: Outcome) => status === 200 || (isLast && status === 402);
        const one = () => askUntil(isEnd, node.baseUrl, account.key, asked).finally(() => ended++);
        const all = Promise.all(Array.from({ length: count }, one));
        // Awaited below, if nothing else fails before.
        all.catch(() => {});
        return all;
      };
      // One first, that waits till the node has set credit aside again: if it can with that statement under way.
      const untilMs = performance.now() + LATE_MS;
      const here: Promise<Outcome[][]>[] = [];
      for (const count of [1, ANSWERS - 2]) {
        const isWaiting = model.waiting(gate) + count;
        here.push(askHere(count));
        const isLate = () => model.waiting(gate) === isWaiting || performance.now() > untilMs;
        await expect.poll(isLate, { timeout: 2 * LATE_MS, interval: 5 }).toBe(true);
      }
      late.release();
      const there = await askTimes(ANSWERS - 1, other.baseUrl, account.key);
      isLast = true;
      await expect.poll(() => model.waiting(gate) + ended, RECOVERY).toBe(ANSWERS - 1);
      model.open(gate);
      const outcomes = [wanted, ...(await Promise.all(here)).flat(2), ...there];
      await nodes.settled();
      outcomes.push(...(await spendAll(other.baseUrl, account)));
      await nodes.settled();
      const { balance, uncollected } = await expectPaid(operator, account, outcomes);
      expect(uncollected).toBe(0n);
      expect(balance).toBeLessThan(SHORTEST_COST);
    });
  }
});

describe.skipIf(!isDistributed)("while a node is cut off from the database", () => {
  it("accounts with credit at hand go on, and who has none is told so within seconds, however many wait", async () => {
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

// Last, as it ends the other nodes.
describe.skipIf(!isDistributed)("a node that takes the place of all others", () => {
  it("has their credit, and what one of them still brings is recorded as not collected", async () => {
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
