import { expect, it } from "vitest";
import type { Operation } from "../../server/src/operations/operation.ts";
import { FREE_FACTS } from "../../server/src/operations/reply.ts";
import { exchangeOf, handlerOf } from "./account-handler.ts";

it("an answer is sent once the concurrency slot of its request is free, for the client's next one", async () => {
  let isFree = () => {};
  const statuses: number[] = [];
  const slotFreed = new Promise<void>((resolve) => {
    isFree = resolve;
  });
  let ended = 0;
  const end = () => {
    ended++;
    return slotFreed;
  };
  const read = {
    kind: "query",
    method: "GET",
    path: "/v1/read",
    auth: "key",
    read: () => ({}),
    run: async () => ({ kind: "whole", headers: {}, body: "{}", facts: FREE_FACTS }),
  };
  const requests = handlerOf(
    [read as unknown as Operation],
    { record: async () => ({ stored: null }) },
    { rates: { requests: null, tokens: null }, end, cancel: end },
  );
  const handled = requests.handle(
    exchangeOf("GET", "/v1/read", { respond: (status) => void statuses.push(status) }),
  );
  await expect.poll(() => ended).toBe(1);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(statuses).toEqual([]);
  isFree();
  await handled;
  expect(statuses).toEqual([200]);
});
