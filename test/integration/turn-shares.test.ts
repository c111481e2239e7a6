import { expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const BODIES = 40;
/** A body of 400 KB that is parsed as a whole before its model is found not to exist. */
const LARGE = JSON.stringify({
  model: "no/such",
  messages: Array.from({ length: 8_000 }, () => ({ role: "user", content: "a word or two" })),
});
const SMALL = JSON.stringify({ model: "no/such", messages: [{ role: "user", content: "hi" }] });

it("a request is answered before most of another account's large ones that came together", async () => {
  await using service = await startService();
  const [heavy, other] = await Promise.all([signUpWithKey(service.baseUrl), signUpWithKey(service.baseUrl)]);
  const post = async ({ key }: { readonly key: string }, body: string) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, { method: "POST", headers, body });
    await response.text();
    return response.status;
  };
  let answered = 0;
  const statuses = Array.from({ length: BODIES }, async () => {
    const status = await post(heavy, LARGE);
    answered++;
    return status;
  });
  await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0);
  const before = answered;
  expect(await post(other, SMALL)).toBe(404);
  const meanwhile = answered - before;
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([404]));
  expect(meanwhile).toBeLessThan(BODIES / 2);
});
