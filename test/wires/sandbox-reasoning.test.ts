import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

let service: Service;
let owner: Awaited<ReturnType<typeof signUpWithKey>>;

beforeAll(async () => {
  service = await startService();
  owner = await signUpWithKey(service.baseUrl);
});
afterAll(() => service?.[Symbol.asyncDispose]());

const model = "sandbox/reasoning";
const SAID = "Which way is north?";
const openai = () => new OpenAI({ apiKey: owner.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: owner.key, baseURL: service.baseUrl, maxRetries: 0 });

const chatRequest = (fields: object) => ({
  method: "POST",
  headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
  body: JSON.stringify({ model, messages: [{ role: "user", content: SAID }], ...fields }),
});

async function chat(fields: object) {
  const answer = await fetch(`${service.baseUrl}/v1/chat/completions`, chatRequest(fields));
  const { choices, usage } = (await answer.json()) as {
    choices: [{ message: object }];
    usage: { completion_tokens_details: { reasoning_tokens: number } };
  };
  return { message: choices[0].message, reasoningTokens: usage.completion_tokens_details.reasoning_tokens };
}

describe("reasoning of the sandbox", () => {
  it("is the reasoning content of a chat completion, whole and streamed", async () => {
    const messages = [{ role: "user" as const, content: SAID }];
    const { choices, usage } = await openai().chat.completions.create({ model, messages });
    const message = choices[0]?.message as { content: string; reasoning_content?: string };
    expect(message.content).toBe(SAID);
    expect(message.reasoning_content).toContain(SAID);
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(64);
    let [thought, text] = ["", ""];
    for await (const chunk of await openai().chat.completions.create({ model, messages, stream: true })) {
      const delta = chunk.choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
      thought += delta?.reasoning_content ?? "";
      text += delta?.content ?? "";
    }
    expect([thought, text]).toEqual([message.reasoning_content, SAID]);
  });

  it("is a reasoning item of a response, whole and streamed", async () => {
    const request = { model, input: SAID, reasoning: { effort: "low" as const, summary: "auto" as const } };
    const response = await openai().responses.create(request);
    expect(response.output_text).toBe(SAID);
    expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    expect(JSON.stringify(response.output[0])).toContain(SAID);
    expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(24);
    const kinds = new Set<string>();
    for await (const event of await openai().responses.create({ ...request, stream: true }))
      kinds.add(event.type);
    expect([...kinds].some((kind) => kind.startsWith("response.reasoning"))).toBe(true);
  });

  it("is a thinking block of a message, whole and streamed", async () => {
    const request = {
      model,
      max_tokens: 2_048,
      thinking: { type: "enabled" as const, budget_tokens: 1_024 },
      messages: [{ role: "user" as const, content: SAID }],
    };
    const { content } = await anthropic().messages.create(request);
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    expect(content[0]).toMatchObject({ thinking: expect.stringContaining(SAID) });
    expect(content[1]).toMatchObject({ text: SAID });
    const final = await anthropic().messages.stream(request).finalMessage();
    expect(final.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    expect(final.content[1]).toMatchObject({ text: SAID });
  });

  it.each([
    [{ reasoning: { effort: "low" } }, 24],
    [{ reasoning: { enabled: true } }, 64],
    [{ reasoning: { max_tokens: 5 } }, 5],
    [{ reasoning: { enabled: false } }, 0],
    [{ thinking: { type: "enabled", budget_tokens: 5 } }, 5],
    [{ thinking: { type: "disabled" } }, 0],
  ])("is as long as %j of a chat completion asks", async (fields, tokens) => {
    const { message, reasoningTokens } = await chat(fields);
    expect(reasoningTokens).toBe(tokens);
    expect("reasoning_content" in message).toBe(tokens > 0);
  });

  it.each([
    ["reasoning_details", { reasoning: { effort: "low" } }],
    ["thinking_blocks", { thinking: { type: "enabled", budget_tokens: 24 } }],
  ])("is in %s for clients that read thoughts there, and is taken back", async (name, fields) => {
    const { message } = (await chat(fields)) as { message: Record<string, object[]> };
    const [thought] = message[name] ?? [];
    expect(thought).toMatchObject({ signature: expect.stringMatching(/^ost1\./) });
    expect(Object.values(thought ?? {})).toContain(message.reasoning_content);
    const streamed = await fetch(
      `${service.baseUrl}/v1/chat/completions`,
      chatRequest({ ...fields, stream: true, stream_options: { include_usage: true } }),
    );
    const text = await streamed.text();
    expect(text).toContain(`"${name}":[{`);
    expect(text).toContain('"reasoning_tokens":24');
    const messages = [{ role: "user", content: SAID }, message, { role: "user", content: "And south?" }];
    expect((await chat({ ...fields, messages })).message).toMatchObject({ content: "And south?" });
  });

  it.each([
    [{ reasoning: { effort: "low", exclude: true } }],
    [{ include_reasoning: false, reasoning_effort: "low" }],
    [{ thinking: { type: "adaptive", display: "omitted" }, reasoning_effort: "low" }],
  ])("is not shown if a chat completion has %j", async (fields) => {
    const { message, reasoningTokens } = await chat(fields);
    expect([message, reasoningTokens]).toEqual([{ role: "assistant", content: SAID, refusal: null }, 24]);
    const streamed = await fetch(
      `${service.baseUrl}/v1/chat/completions`,
      chatRequest({ ...fields, stream: true }),
    );
    const text = await streamed.text();
    expect(text).toContain(" way");
    expect(text).not.toContain("reasoning_content");
  });

  it("is counted in the log", async () => {
    const { entries } = await owner.trpc.audit.list.query({ model, limit: 1 });
    expect(entries[0]?.reasoningTokens).toBeGreaterThan(0);
  });

  it("refuses an effort that does not exist, naming its field", async () => {
    const refused = await fetch(
      `${service.baseUrl}/v1/chat/completions`,
      chatRequest({ reasoning: { effort: "much" } }),
    );
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: expect.objectContaining({ param: "reasoning.effort" }) },
    ]);
  });
});
