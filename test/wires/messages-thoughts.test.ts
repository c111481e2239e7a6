import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  afterCall,
  callPiece,
  chatStream,
  chatWhole,
  HI,
  startMessagesService,
  TOOL,
} from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const sent = () => service.sent();

describe("thoughts of a model with Chat Completions", () => {
  it("shows thoughts to a client that asked for them, and to no other", async () => {
    const answer = chatStream(
      [{ reasoning_content: "Hm" }],
      [{ reasoning_content: "…" }],
      [{ content: "42" }],
      [{}, "stop"],
    );
    service.answers.chat = answer;
    const said = { type: "text", text: "42" };
    expect((await service.streamed(HI)).content).toEqual([said]);
    service.answers.chat = answer;
    const shown = { ...HI, thinking: { type: "adaptive" } };
    const signature = expect.stringMatching(/^ost1\./);
    expect((await service.streamed(shown)).content).toEqual([
      { type: "thinking", thinking: "Hm…", signature },
      said,
    ]);
    service.answers.chat = answer;
    const omitted = { ...HI, thinking: { type: "adaptive", display: "omitted" } };
    expect((await service.streamed(omitted)).content).toEqual([
      { type: "thinking", thinking: "", signature },
      said,
    ]);
  });

  it("shows thoughts that are parts of the content, as Mistral's are, and does not give them back", async () => {
    const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
    service.answers.chat = chatStream(
      [{ content: [thinking("H")] }],
      [{ content: [thinking("m"), { type: "text", text: "4" }] }],
      [{ content: "2" }],
      [{}, "stop"],
    );
    const shown = { ...HI, thinking: { type: "adaptive" } };
    const { content } = await service.streamed(shown);
    expect(content).toEqual([
      { type: "thinking", thinking: "Hm", signature: "" },
      { type: "text", text: "42" },
    ]);
    service.answers.chat = chatWhole({ content: [thinking("Hm"), { type: "text", text: "42" }] });
    const more = { role: "user", content: "So?" };
    const messages = [...HI.messages, { role: "assistant", content }, more];
    expect(await (await service.post({ ...shown, messages })).json()).toMatchObject({ content });
    expect(sent().messages).toEqual([...HI.messages, { role: "assistant", content: "42" }, more]);
  });

  it.each([
    ["shown", { type: "adaptive" }],
    ["omitted", { type: "adaptive", display: "omitted" }],
    ["hidden", undefined],
  ])(
    "gives an upstream its thoughts back with the calls that followed, also %s ones",
    async (_, thinking) => {
      service.answers.chat = chatStream(
        [{ reasoning_content: "It depends " }],
        [{ reasoning_content: "on Rome." }],
        [{ content: "Let me see." }],
        [callPiece(0, { id: "a", function: { name: "weather", arguments: "{}" } })],
        [{}, "tool_calls"],
      );
      const asked = { ...HI, thinking, tools: [TOOL] };
      const { content } = await service.streamed(asked);
      service.answers.chat = chatWhole({ content: "Fine." });
      await service.post({ ...asked, messages: [...HI.messages, ...afterCall(content)] });
      expect(sent().messages[1]).toEqual({
        role: "assistant",
        content: "Let me see.",
        reasoning_content: "It depends on Rome.",
        tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
      });
      // No other upstream gets them, as it may refuse the member.
      await service.post({
        ...asked,
        model: "acme/other",
        messages: [...HI.messages, ...afterCall(content)],
      });
      expect(sent().messages[1]).not.toHaveProperty("reasoning_content");
    },
  );

  it("gives OpenRouter back what it has told of thoughts, joined, with the call that followed", async () => {
    const detail = { type: "reasoning.text", index: 0, format: "google-gemini-v1" };
    const encrypted = { type: "reasoning.encrypted", id: "a", data: "c2VjcmV0", index: 1 };
    service.answers.chat = chatStream(
      [{ reasoning: "Rome", reasoning_details: [{ ...detail, text: "Rome" }] }],
      [{ reasoning: "?", reasoning_details: [{ ...detail, text: "?", signature: "s" }] }],
      [callPiece(0, { id: "a", function: { name: "weather", arguments: "{}" } })],
      [{ reasoning_details: [encrypted] }, "tool_calls"],
    );
    const asked = { ...HI, tools: [TOOL] };
    const { content } = await service.streamed(asked);
    expect(JSON.stringify(content)).not.toContain("c2VjcmV0");
    service.answers.chat = chatWhole({ content: "Fine." });
    await service.post({ ...asked, messages: [...HI.messages, ...afterCall(content)] });
    expect(sent().messages[1]).toMatchObject({
      reasoning: "Rome?",
      reasoning_details: [{ ...detail, text: "Rome?", signature: "s" }, encrypted],
    });
    await service.post({ ...asked, model: "acme/other", messages: [...HI.messages, ...afterCall(content)] });
    expect(sent().messages[1]).not.toHaveProperty("reasoning_details");
  });

  it("gives a thought back in the member that it came in", async () => {
    const call = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };
    service.answers.chat = chatWhole({ reasoning: "Rome?", content: null, tool_calls: [call] }, "tool_calls");
    const { content } = (await (await service.post({ ...HI, tools: [TOOL] })).json()) as {
      content: object[];
    };
    service.answers.chat = chatWhole({ content: "Fine." });
    await service.post({ ...HI, tools: [TOOL], messages: [...HI.messages, ...afterCall(content)] });
    expect(sent().messages[1]).toMatchObject({ reasoning: "Rome?" });
    expect(sent().messages[1]).not.toHaveProperty("reasoning_content");
  });

  it("sends messages of others with an empty thought to an upstream that refuses them without", async () => {
    const message =
      "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1";
    service.answers.chat = (request) => {
      const { messages } = request.body as { messages: { role: string; reasoning_content?: string }[] };
      const isWhole = messages.every(
        ({ role, reasoning_content: thought }) => role !== "assistant" || (thought ?? "") !== "",
      );
      if (isWhole) return chatWhole({ content: "Fine." })(request);
      request.response.writeHead(400, { "content-type": "application/json" });
      request.response.end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
    };
    const messages = [
      ...HI.messages,
      ...afterCall([{ type: "tool_use", id: "a", name: "weather", input: {} }]),
      { role: "assistant", content: "Sunny." },
      { role: "user", content: "And now?" },
    ];
    const asked = { ...HI, model: "acme/thinking", tools: [TOOL], messages };
    const before = service.chat.received.length;
    expect((await service.post(asked)).status).toBe(200);
    expect(service.chat.received.length).toBe(before + 2);
    expect(sent().messages[3]).toEqual({ role: "assistant", content: "Sunny.", reasoning_content: " " });
    // From then on it gets them at once.
    expect((await service.post(asked)).status).toBe(200);
    expect(service.chat.received.length).toBe(before + 3);
  });

  it("sends no thoughts to an upstream that refuses them", async () => {
    const call = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };
    service.answers.chat = chatWhole({ reasoning_content: "Rome?", tool_calls: [call] }, "tool_calls");
    const asked = { ...HI, model: "acme/strict", tools: [TOOL] };
    const { content } = (await (await service.post(asked)).json()) as { content: object[] };
    service.answers.chat = (request) => {
      if (!JSON.stringify(request.body).includes("reasoning_content"))
        return chatWhole({ content: "Fine." })(request);
      const detail = [
        { loc: ["body", "messages", 1, "reasoning_content"], msg: "Extra inputs are not permitted" },
      ];
      request.response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
    };
    const second = { ...asked, messages: [...HI.messages, ...afterCall(content)] };
    expect((await service.post(second)).status).toBe(200);
  });

  it("carries what a provider wants back with a call, sealed, and gives it back", async () => {
    const extra = { google: { thought_signature: "c2lnbmF0dXJl" } };
    const call = { id: "a", function: { name: "weather", arguments: "{}" }, extra_content: extra };
    service.answers.chat = chatStream([callPiece(0, call)], [{}, "tool_calls"]);
    const { content } = await service.streamed({ ...HI, tools: [TOOL] });
    expect(content.map(({ type }: { type: string }) => type)).toEqual(["redacted_thinking", "tool_use"]);
    expect(JSON.stringify(content)).not.toContain("c2lnbmF0dXJl");
    service.answers.chat = chatWhole({ content: "Fine." });
    const second = (assistant: object[]) => ({
      ...HI,
      tools: [TOOL],
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: assistant },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] },
      ],
    });
    await service.post(second(content));
    expect(sent().messages[1].tool_calls[0].extra_content).toEqual(extra);
    // A text that this service has not sealed is dropped.
    const forged = [{ type: "redacted_thinking", data: `${content[0].data.slice(0, -4)}AAAA` }, content[1]];
    expect((await service.post(second(forged))).status).toBe(200);
    expect(sent().messages[1].tool_calls[0].extra_content).toBeUndefined();
  });
});
