import { expect, it } from "vitest";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

it("a spender that is opened while older ones are being closed keeps its heartbeat, and closes those in between", async () => {
  const database = new CreditDatabase(() => 0);
  const store = database.storeOf("node");
  const heartbeats: (readonly SpenderId[])[] = [];
  const closedBelow: SpenderId[] = [];
  let answerClose = () => {};
  const credits = new Credits({
    store: {
      ...store,
      heartbeat: (spenders) => {
        heartbeats.push(spenders);
        return store.heartbeat(spenders);
      },
      closeBelow: async (id) => {
        closedBelow.push(id);
        await store.closeBelow(id);
        if (closedBelow.length === 1)
          await new Promise<void>((resolve) => {
            answerClose = resolve;
          });
      },
    },
    monotonicMs: () => 0,
    passedMs: () => 0,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
  const first = await credits.open();
  const closing = credits.closeFormer();
  await expect.poll(() => closedBelow).toEqual([first]);
  database.releaseAll("node");
  await credits.renew();
  const { spender: second } = credits;
  expect(second).not.toBe(first);
  answerClose();
  await closing;
  await credits.renew();
  expect(heartbeats.at(-1)).toEqual([second]);
  await credits.closeReplaced();
  expect(closedBelow).toEqual([first, second]);
});
