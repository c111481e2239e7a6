import { describe, expect, it } from "vitest";
import { messages, replayVendor, upstreamOf } from "./dialect.ts";

const baseUrl = "https://models.example/v1";
const vendor = replayVendor(/https:\/\/models\.example\/v1\/.*/);
const tabs = [
  { tab_id: "1", title: "Rome", url: "https://rome.example/", active: true },
  { tab_id: "2", title: "", url: "about:blank" },
];
const state_changes = [
  { type: "tab_opened", tab_id: "2" },
  { type: "download_completed", download_id: "d", url: "https://rome.example/a.pdf", size_bytes: 9 },
];
const asked = (...content: object[]) => ({
  max_tokens: 9,
  tools: [{ type: "browser_20260801", name: "browser" }],
  messages: [
    { role: "user", content: "Go to Rome." },
    {
      role: "assistant",
      content: [
        {
          type: "tool_use",
          id: "a",
          name: "navigate",
          toolset_name: "browser",
          input: { url: "rome.example" },
        },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", toolset_name: "browser", content }] },
  ],
});

describe("the state of a browser in a tool's result", () => {
  it("is a text for other providers, so that the conversation can go on with their models", async () => {
    vendor.answers(200, {
      candidates: [{ content: { parts: [{ text: "Fine." }] }, finishReason: "STOP" }],
      choices: [{ message: { content: "Fine." }, finish_reason: "stop" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    });
    const request = asked(
      { type: "text", text: "Navigated." },
      { type: "browser_state", tabs, state_changes },
    );
    const state = `Browser state: ${JSON.stringify({ tabs, state_changes })}`;
    const answer = await messages(upstreamOf("openai", { baseUrl }), "gpt-5", request);
    expect(vendor.sent[0]?.body.messages.at(-1).content).toBe(`Navigated.\n${state}`);
    expect(answer.ignored).toEqual([
      "messages.1.content.0.toolset_name",
      "messages.2.content.0.toolset_name",
      "tools.0",
    ]);
    await messages(upstreamOf("google", { baseUrl }), "gemini-2.5-flash", request);
    const [part] = vendor.sent[1]?.body.contents.at(-1).parts ?? [];
    expect(part.functionResponse.response.content).toBe(`Navigated.\n${state}`);
  });

  it("has no changes where there were none", async () => {
    vendor.answers(200, { choices: [{ message: { content: "Fine." }, finish_reason: "stop" }] });
    const request = asked({ type: "browser_state", tabs: [], state_changes: null });
    await messages(upstreamOf("openai", { baseUrl }), "gpt-5", request);
    expect(vendor.sent[0]?.body.messages.at(-1).content).toBe('Browser state: {"tabs":[]}');
  });
});
