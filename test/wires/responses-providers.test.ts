import { describe, expect, it } from "vitest";
import { replayVendor, respond, upstreamOf, whole } from "../dialects/dialect.ts";

const ENCRYPTED = { include: ["reasoning.encrypted_content"] };
const weather = { type: "function", name: "weather", parameters: { type: "object", properties: {} } };
const user = (content: string) => ({ role: "user", content });

describe("a response of a Google model", () => {
  const vendor = replayVendor("https://generativelanguage.googleapis.com/v1beta/models/*");
  const upstream = upstreamOf("google");
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 7, totalTokenCount: 107 };
  const answers = (...parts: object[]) =>
    vendor.answers(200, {
      candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
      usageMetadata,
    });

  it("gives thought signatures back to Google, sealed on the way", async () => {
    answers({ functionCall: { name: "weather", args: {} }, thoughtSignature: "c2ln" });
    const first = await whole(respond(upstream, "gemini", { input: "hi", tools: [weather], ...ENCRYPTED }));
    expect(first.output).toMatchObject([
      { type: "function_call", name: "weather", arguments: "{}" },
      { type: "reasoning", encrypted_content: expect.stringMatching(/^ost1\./) },
    ]);
    expect(JSON.stringify(first)).not.toContain("c2ln");
    answers({ text: "Fine." });
    const [{ call_id: callId }] = first.output;
    const result = { type: "function_call_output", call_id: callId, output: "sunny" };
    const input = [user("hi"), ...first.output, result];
    await respond(upstream, "gemini", { input, tools: [weather], ...ENCRYPTED });
    expect(JSON.stringify(vendor.sent[1]?.body.contents)).toContain('"thoughtSignature":"c2ln"');
  });

  it("leaves out, and names, what Codex asks every model for", async () => {
    answers({ text: "Fine." });
    const answer = await respond(upstream, "gemini", {
      input: "hi",
      tools: [weather],
      parallel_tool_calls: false,
      text: { verbosity: "low" },
      service_tier: "priority",
    });
    if (answer.kind !== "whole") throw new Error("not whole");
    expect([...answer.ignored].sort()).toEqual(["parallel_tool_calls", "service_tier", "text.verbosity"]);
  });
});

describe("a response of an Anthropic model", () => {
  const vendor = replayVendor("https://api.anthropic.com/v1/messages");
  const upstream = upstreamOf("anthropic");
  const answers = (...content: object[]) =>
    vendor.answers(200, {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude",
      content,
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    });

  it("gives thoughts back with their signatures, sealed on the way", async () => {
    answers({ type: "thinking", thinking: "hmm", signature: "c2ln" }, { type: "text", text: "Fine." });
    const asked = { reasoning: { effort: "low" }, ...ENCRYPTED };
    const first = await whole(respond(upstream, "claude-sonnet-4-5", { input: "hi", ...asked }));
    expect(first.output).toMatchObject([
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "hmm" }],
        encrypted_content: expect.stringMatching(/^ost1\./),
      },
      { type: "message" },
    ]);
    expect(JSON.stringify(first)).not.toContain("c2ln");
    answers({ type: "text", text: "Fine again." });
    const input = [user("hi"), ...first.output, user("more")];
    await respond(upstream, "claude-sonnet-4-5", { input, ...asked });
    expect(JSON.stringify(vendor.sent[1]?.body.messages)).toContain('"signature":"c2ln"');
  });

  it("does without the thoughts that an answer broke off after, which Anthropic refuses at the end", async () => {
    answers({ type: "thinking", thinking: "hmm", signature: "c2ln" }, { type: "text", text: "Fine." });
    const asked = { reasoning: { effort: "low" }, ...ENCRYPTED };
    const model = "claude-sonnet-4-5";
    const [thought, said] = (await whole(respond(upstream, model, { input: "hi", ...asked }))).output;
    await respond(upstream, model, { input: [user("hi"), thought], ...asked });
    await respond(upstream, model, { input: [user("hi"), said, thought], ...asked });
    await respond(upstream, model, { input: [user("hi"), thought, user("well?")], ...asked });
    const [, alone, after, before] = vendor.sent.map(({ body }) => body.messages);
    const asks = { role: "user", content: [{ type: "text", text: "hi" }] };
    expect(alone).toEqual([asks]);
    expect(after).toEqual([asks, { role: "assistant", content: [{ type: "text", text: "Fine." }] }]);
    expect(before[1]).toEqual({
      role: "assistant",
      content: [{ type: "thinking", thinking: "hmm", signature: "c2ln" }],
    });
  });

  it("does without the thoughts of what it is to continue if it is not to think, as Anthropic demands", async () => {
    answers({ type: "thinking", thinking: "hmm", signature: "c2ln" }, { type: "text", text: "Fine." });
    const model = "claude-sonnet-4-5";
    const asked = { reasoning: { effort: "low" }, ...ENCRYPTED };
    const { output } = await whole(respond(upstream, model, { input: "hi", ...asked }));
    const input = [user("hi"), ...output];
    await respond(upstream, model, { input });
    await respond(upstream, model, { input, ...asked });
    await respond(upstream, model, { input: [...input, user("more")] });
    const [, without, thinking, earlier] = vendor.sent.map(({ body }) => body.messages[1]?.content);
    const thought = { type: "thinking", thinking: "hmm", signature: "c2ln" };
    const said = { type: "text", text: "Fine." };
    expect([without, thinking, earlier]).toEqual([[said], [thought, said], [thought, said]]);
  });

  it("does without the thoughts of other providers", async () => {
    answers({ type: "text", text: "Fine." });
    const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "another provider's" };
    const input = [user("hi"), thought, { role: "assistant", content: "hello" }, user("more")];
    await respond(upstream, "claude-sonnet-4-5", { input });
    expect(JSON.stringify(vendor.sent[0]?.body)).not.toContain("another provider's");
  });
});
