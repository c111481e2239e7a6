import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { eventsIn, messageIn } from "./messages-events.ts";
import {
  type Answer,
  afterCall,
  callPiece,
  chatStream,
  chatWhole,
  HI,
  image,
  startMessagesService,
  TOOL,
} from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const sent = () => service.sent();

/** Streams three words, and reports no usage. */
const streamWithoutUsage: Answer = ({ response }) => {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  response.setHeader("content-type", "text/event-stream");
  response.end(`${chunk({ content: "one two three" }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
};

describe("a whole answer", () => {
  it.each(["length", "model_length", "insufficient_system_resource"])(
    "that ended by %s was cut off",
    async (reason) => {
      service.answers.chat = chatWhole({ content: "Fi" }, reason);
      expect(await (await service.post(HI)).json()).toMatchObject({ stop_reason: "max_tokens" });
    },
  );

  it("is a message, with what was not cached as its input tokens", async () => {
    service.answers.chat = ({ response }) => {
      const usage = {
        prompt_tokens: 50,
        completion_tokens: 9,
        prompt_tokens_details: { cached_tokens: 20 },
      };
      const message = { role: "assistant", content: "Fine." };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      response.setHeader("content-type", "application/json").end(JSON.stringify({ choices, usage }));
    };
    const response = await service.post(HI);
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      type: "message",
      role: "assistant",
      model: "acme/chat",
      content: [{ type: "text", text: "Fine." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 30,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 9,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: null,
        inference_geo: null,
        speed: null,
      },
    });
    expect(await service.lastEntry()).toMatchObject({
      endpoint: "POST /v1/messages",
      model: "acme/chat",
      promptTokens: 50,
      completionTokens: 9,
      cachedTokens: 20,
      status: 200,
    });
  });

  it.each([
    ["stop", {}, "end_turn", null],
    ["length", {}, "max_tokens", null],
    ["content_filter", {}, "refusal", null],
    ["stop", { stop_reason: "END" }, "stop_sequence", "END"],
  ])("that ended by %s %j stops with %s", async (finish, more, reason, sequence) => {
    service.answers.chat = chatWhole({ content: "Fine." }, finish, more);
    const answer = await (await service.post(HI)).json();
    expect(answer).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
  });

  it("with a refusal stops with it", async () => {
    service.answers.chat = chatWhole({ content: null, refusal: "I can't." });
    const answer = await (await service.post(HI)).json();
    expect(answer).toMatchObject({
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: null },
      content: [{ type: "text", text: "I can't." }],
    });
  });

  it("calls tools, by ids that Anthropic accepts too", async () => {
    const call = (id: string, name: string, input: string) => ({
      id,
      type: "function",
      function: { name, arguments: input },
    });
    const calls = [call("functions.weather:0", "weather", '{"city":"Rome"}'), call("call_2", "now", "")];
    service.answers.chat = chatWhole({ content: null, tool_calls: calls }, "tool_calls");
    const answer = await (await service.post({ ...HI, tools: [TOOL] })).json();
    expect(answer).toMatchObject({
      stop_reason: "tool_use",
      content: [
        { type: "tool_use", id: "functions_weather_0", name: "weather", input: { city: "Rome" } },
        { type: "tool_use", id: "call_2", name: "now", input: {} },
      ],
    });
  });
});

describe("a streamed answer", () => {
  it("comes event by event, in Anthropic's order", async () => {
    service.answers.chat = chatStream(
      [{ role: "assistant", content: "Hel" }],
      [{ content: "lo" }],
      [{}, "stop"],
    );
    const response = await service.post({ ...HI, stream: true });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const text = await response.text();
    expect(eventsIn(text).map(({ event }) => event)).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(messageIn(text)).toMatchObject({
      model: "acme/chat",
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 30, cache_read_input_tokens: 20, output_tokens: 9 },
    });
    // Clients ignore frames without a name.
    for (const frame of text.split("\n\n")) if (frame !== "") expect(frame).toMatch(/^event: \w+\ndata: \{/);
  });

  it("begins with an estimate of the whole prompt: instructions, tools, calls and results", async () => {
    service.answers.chat = chatStream([{ content: "ok" }], [{}, "stop"]);
    const long = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    const start = async (fields: object) => {
      const text = await (await service.post({ ...HI, ...fields, stream: true })).text();
      return eventsIn(text)[0]?.data.message.usage.input_tokens;
    };
    const few = await start({});
    expect(few).toBeGreaterThan(0);
    expect(few).toBeLessThan(20);
    const used = (content: object[]) => ({
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "t", name: "weather", input: { city: long } }],
        },
        { role: "user", content },
      ],
    });
    for (const fields of [
      { system: long },
      { tools: [{ ...TOOL, description: long }] },
      { tools: [{ ...TOOL, input_schema: { type: "object", properties: { a: { description: long } } } }] },
      used([{ type: "tool_result", tool_use_id: "t", content: "sunny" }]),
      { messages: [{ role: "user", content: [{ type: "text", text: long }] }] },
    ]) {
      expect(await start(fields)).toBeGreaterThan(900);
      expect(await start(fields)).toBeLessThan(1_200);
    }
    expect(await start(used([{ type: "tool_result", tool_use_id: "t", content: long }]))).toBeGreaterThan(
      1_800,
    );
    // Of a long prompt only samples are counted.
    const texts = Array.from(
      { length: 3_000 },
      (_, index) => `Line ${index} says ${index % 7 === 0 ? long.slice(0, 200) : "so"}.`,
    );
    const messages = [{ role: "user", content: texts.join("\n") }];
    const counted = await service.post({ model: HI.model, messages }, {}, "/v1/messages/count_tokens");
    const { input_tokens: all } = (await counted.json()) as { input_tokens: number };
    expect(all).toBeGreaterThan(30_000);
    expect(Math.abs((await start({ messages })) / all - 1)).toBeLessThan(0.2);
    // An image's data is not text.
    expect(await start({ messages: [{ role: "user", content: [image("A".repeat(100_000))] }] })).toBeLessThan(
      20,
    );
  });

  it("writes one block after the other, though an upstream sends pieces of several calls by turns", async () => {
    service.answers.chat = chatStream(
      [{ content: "Let me look." }],
      [callPiece(0, { id: "a", function: { name: "weather", arguments: '{"city":' } })],
      [callPiece(1, { id: "b", function: { name: "weather", arguments: '{"ci' } })],
      [callPiece(0, { function: { arguments: '"Rome"}' } })],
      [callPiece(1, { function: { arguments: 'ty":"Oslo"}' } })],
      [{}, "tool_calls"],
    );
    expect(await service.streamed({ ...HI, tools: [TOOL] })).toMatchObject({
      content: [
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "a", name: "weather", input: { city: "Rome" } },
        { type: "tool_use", id: "b", name: "weather", input: { city: "Oslo" } },
      ],
      stop_reason: "tool_use",
    });
  });

  it("streams the input of each of several calls, as soon as the one before is complete", async () => {
    let goOn = () => {};
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    service.answers.chat = async (request) => {
      const write = (delta: object) =>
        request.response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
      write(callPiece(0, { id: "a", function: { name: "weather", arguments: '{"city":"Rome"}' } }));
      write(callPiece(1, { id: "b", function: { name: "weather", arguments: '{"city":"Os' } }));
      await waiting;
      write(callPiece(1, { function: { arguments: 'lo"}' } }));
      request.response.end(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] })}\n\n`,
      );
    };
    const response = await service.post({ ...HI, tools: [TOOL], stream: true });
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.includes("Os")) goOn();
    }
    expect(messageIn(text).content).toHaveLength(2);
  });

  it("calls tools by the client's names, which may be longer than others than Anthropic accept", async () => {
    const name = "mcp__plugin_chrome-devtools-mcp_chrome-devtools__get_console_message";
    const long = { ...TOOL, name };
    service.answers.chat = (request) => {
      const { tools } = request.body as { tools: { function: { name: string } }[] };
      const call = { id: "a", function: { name: tools[0]?.function.name, arguments: "{}" } };
      chatStream([callPiece(0, call)], [{}, "tool_calls"])(request);
    };
    const asked = {
      ...HI,
      tools: [long, { ...long, name: `${name}_2` }],
      tool_choice: { type: "tool", name },
    };
    const { content } = await service.streamed(asked);
    expect(content).toMatchObject([{ type: "tool_use", name }]);
    const names = sent().tools.map((tool: { function: { name: string } }) => tool.function.name);
    expect(names.map((short: string) => short.length)).toEqual([64, 64]);
    expect(new Set(names).size).toBe(2);
    expect(sent().tool_choice.function.name).toBe(names[0]);
    service.answers.chat = chatWhole({ content: "Fine." });
    await service.post({ ...asked, messages: [...HI.messages, ...afterCall(content)] });
    expect(sent().messages[1].tool_calls[0].function.name).toBe(names[0]);
  });

  it("has a usage even if the upstream reports none", async () => {
    service.answers.chat = streamWithoutUsage;
    const { usage } = await service.streamed(HI);
    expect(usage).toMatchObject({ output_tokens: 3 });
    expect(usage.input_tokens).toBeGreaterThan(0);
    expect(await service.lastEntry()).toMatchObject({ usageSource: "estimated", completionTokens: 3 });
  });

  it("that breaks off ends with an error event and without message_stop", async () => {
    service.answers.chat = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      const chunk = { choices: [{ index: 0, delta: { content: "Hel" }, finish_reason: null }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => response.destroy());
    };
    const events = eventsIn(await (await service.post({ ...HI, stream: true })).text());
    expect(events.at(-1)).toEqual({
      event: "error",
      data: { type: "error", error: { type: "api_error", message: expect.any(String) } },
    });
    expect(events.map(({ event }) => event)).not.toContain("message_stop");
    expect(await service.lastEntry()).toMatchObject({ errorCode: "upstream_error" });
  });
});

describe("a request with an idempotency key", () => {
  it.each([
    ["reports its usage", chatStream([{ content: "Hello" }], [{}, "stop"])],
    ["reports none", streamWithoutUsage],
  ])("is answered once, and repeated alike, where the upstream %s", async (_, answer) => {
    service.answers.chat = answer;
    const headers = { "idempotency-key": crypto.randomUUID() };
    const first = await (await service.post({ ...HI, stream: true }, headers)).text();
    expect(messageIn(first)).toMatchObject({ stop_reason: "end_turn" });
    expect(
      eventsIn(first)
        .map(({ event }) => event)
        .slice(-2),
    ).toEqual(["message_delta", "message_stop"]);
    const calls = service.chat.received.length;
    const second = await service.post({ ...HI, stream: true }, headers);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await second.text()).toBe(first);
    expect(service.chat.received).toHaveLength(calls);
  });

  it("is another one at the endpoint of another API, whose answers its client could not read", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const headers = {
      "idempotency-key": crypto.randomUUID(),
      authorization: `Bearer ${service.owner.key}`,
      "content-type": "application/json",
    };
    const send = (path: string) =>
      fetch(service.service.baseUrl + path, { method: "POST", headers, body: JSON.stringify(HI) });
    expect(await (await send("/v1/chat/completions")).json()).toMatchObject({ object: "chat.completion" });
    const message = await send("/v1/messages");
    expect(await message.json()).toMatchObject({ type: "message" });
    expect(message.headers.get("idempotency-replayed")).toBeNull();
    expect((await send("/v1/messages")).headers.get("idempotency-replayed")).toBe("true");
  });
});
