import { describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { ANSWER_COST, startGatedModel } from "./gated-model.ts";
import { accountAt, expectPaid, openAccount, WITHOUT_CREDIT } from "./money.ts";
import { ask } from "./requests.ts";

const KEYS = 200;
const CLIENTS = 40;
const KILLS = 5;
const CREDIT = BigInt(10 * KEYS) * ANSWER_COST;

describe("requests with idempotency keys that are repeated until they are answered", () => {
  it(`are each charged exactly once over ${KILLS} kills`, { timeout: 300_000 }, async () => {
    await using model = await startGatedModel();
    const env = { ...model.env, ...WITHOUT_CREDIT, OSTIARY_LOG: "silent" };
    await using first = await startOperatedService({ env });
    const { dataDir, databaseUrl } = first;
    const inherited = { env, dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
    const account = await openAccount(await signInOperator(first.baseUrl), CREDIT);
    let last = first;
    let baseUrl: string | null = first.baseUrl;
    let unanswered = KEYS;
    const keys = Array.from({ length: KEYS }, (_, number) => `order-${number}`);
    const waiting = [...keys];
    const client = async () => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
        for (let isAnswered = false; !isAnswered; ) {
          if (baseUrl !== null)
            isAnswered = (await ask(baseUrl, account.key, { idempotencyKey: key })).status === 200;
          if (!isAnswered) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        unanswered--;
      }
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, client));
    for (let kill = 1; kill <= KILLS; kill++) {
      const isReached = () => unanswered <= KEYS - (kill * KEYS) / (KILLS + 1);
      await expect.poll(isReached, { interval: 1, timeout: 60_000 }).toBe(true);
      baseUrl = null;
      await last.kill();
      last = await startService(inherited);
      baseUrl = last.baseUrl;
    }
    await clients;

    // Repeated once more, each is answered from what is kept, and costs nothing.
    const again = await Promise.all(
      keys.map((idempotencyKey) => ask(last.baseUrl, account.key, { idempotencyKey })),
    );
    expect(again.filter(({ status, isReplayed }) => status !== 200 || !isReplayed)).toEqual([]);
    const operator = await signInOperator(last.baseUrl);
    const { cost, uncollected } = await expectPaid(operator, accountAt(last.baseUrl, account), []);
    await last.stop();
    expect({ cost, uncollected }).toEqual({ cost: BigInt(KEYS) * ANSWER_COST, uncollected: 0n });
  });
});
