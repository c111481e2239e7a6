import { expect, it } from "vitest";
import { Publisher } from "../../server/src/admission/publisher.ts";
import type { AccountId } from "../../server/src/contract/account.ts";

const ACCOUNTS = ["a", "b", "c", "d"] as AccountId[];

it("an account whose versions can't be published keeps nobody else's waiting", async () => {
  const unpublished = new Set(ACCOUNTS);
  const broken = new Set(ACCOUNTS);
  let tried = 0;
  const publisher = new Publisher(
    {
      publish: async (accountId) => {
        tried++;
        // As when another program has written to the account's key in Redis.
        if (broken.has(accountId)) throw new Error("WRONGTYPE");
      },
    },
    {
      list: async (limit) =>
        [...unpublished].slice(0, limit).map((accountId) => ({ accountId, version: 2n })),
      isPending: async (accountId) => unpublished.has(accountId),
      clear: async (accountId) => void unpublished.delete(accountId),
    },
  );
  const sweep = () => publisher.sweep().catch(() => {});
  // Redis is away for a while, and two accounts stay broken.
  for (let number = 0; number < 10; number++) await sweep();
  expect(tried).toBe(10);
  for (const account of ACCOUNTS.slice(2)) broken.delete(account);
  for (let number = 0; number < 3; number++) await sweep();
  expect([...unpublished]).toEqual(ACCOUNTS.slice(0, 2));
  expect(publisher.waiting).toBe(2);

  unpublished.add("e" as AccountId);
  await sweep();
  expect(unpublished.has("e" as AccountId)).toBe(false);

  broken.clear();
  await sweep();
  expect(unpublished.size).toBe(0);
  expect(publisher.waiting).toBe(0);
});
