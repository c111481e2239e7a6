import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { JsonObject } from "../../server/src/json/json.ts";
import { TextTally } from "../../server/src/tokens/text-tally.ts";
import { TokenEstimator } from "../../server/src/tokens/token-estimate.ts";

const characters = new TokenEstimator(async (texts) => texts.join("").length);

function tallyOf(...texts: string[]): TextTally {
  const tally = new TextTally();
  for (const text of texts) tally.add(text);
  return tally;
}

it("includes messages, tools, instructions, and an input of text or of tokens", async () => {
  const promptTokens = async (request: JsonObject) =>
    (await characters.usageOf(request, new TextTally())).promptTokens;
  // Four for the message itself, and its texts.
  expect(await promptTokens({ messages: [{ role: "user", content: "hi" }] })).toBe(10);
  expect(await promptTokens({ tools: [{ type: "function", function: { name: "abc" } }] })).toBe(11);
  expect(await promptTokens({ instructions: "be brief", input: "four" })).toBe(12);
  expect(await promptTokens({ input: [[1_000, 2, 3], [4]] })).toBe(4);
});

it("counts a bounded part of a long text, however it is added", async () => {
  const windows: string[] = [];
  const estimator = new TokenEstimator(async (texts) => {
    windows.push(...texts);
    return texts.join("").length;
  });
  const text = tallyOf("x".repeat(5_000_000), "y");
  expect(text.beginning().length).toBeLessThanOrEqual(256 * 1024);
  const { promptTokens } = await estimator.usageOfPrompt({ text, messages: 0 }, new TextTally());
  expect(promptTokens).toBeGreaterThanOrEqual(5_000_000);
  expect(windows.length).toBeLessThanOrEqual(64);
  expect(windows.join("").length).toBeLessThanOrEqual(64 * 1_024);
});

it("lets short texts have their turn between parts of a long one", async () => {
  const order: string[] = [];
  const estimator = new TokenEstimator(async (texts) => {
    order.push(texts[0]?.[0] ?? "");
    await setImmediate();
    return texts.join("").length;
  });
  const count = (text: string) =>
    estimator.usageOfPrompt({ text: tallyOf(text), messages: 0 }, new TextTally());
  await Promise.all([count("x".repeat(100_000)), count("y")]);
  expect(order.indexOf("y")).toBe(1);
  expect(order.length).toBeGreaterThan(10);
});

it("goes by the length of texts while the tokenizer fails", async () => {
  const estimator = new TokenEstimator(() => Promise.reject(new Error("out of memory")));
  estimator.prepare();
  const usage = await estimator.usageOfPrompt(
    { text: tallyOf("x".repeat(300)), messages: 1 },
    tallyOf("abc"),
  );
  expect(usage).toEqual({ promptTokens: 104, completionTokens: 1, cachedTokens: 0 });
});
