import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  chatStream,
  chatWhole,
  frames,
  HI,
  NATIVE_END,
  NATIVE_START,
  NATIVE_TEXT,
  nativeStream,
  startMessagesService,
  TOOL,
} from "./messages-service.ts";

const service = sharedByFile(startMessagesService);
let client: Anthropic;
beforeAll(() => {
  client = clientWith({});
});

function clientWith(options: object): Anthropic {
  const { baseUrl: baseURL } = service.service;
  // What the environment of the tests has must not be sent.
  return new Anthropic({ baseURL, apiKey: service.owner.key, authToken: null, maxRetries: 0, ...options });
}

const ASKED = { ...HI, messages: [{ role: "user" as const, content: "hi" }] };
const NATIVE = { ...ASKED, model: "acme/native" };

/** What a call was refused with. */
async function errorOf(call: PromiseLike<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof Anthropic.APIError) return thrown;
    throw thrown;
  }
  throw new Error("the call was not refused");
}

describe("@anthropic-ai/sdk", () => {
  it("creates a message, with the key in either header", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    for (const options of [{}, { apiKey: null, authToken: service.owner.key }]) {
      const message = await clientWith(options).messages.create(ASKED);
      expect(message).toMatchObject({
        model: "acme/chat",
        content: [{ type: "text", text: "Fine." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 50, output_tokens: 9 },
      });
      expect(message._request_id).toMatch(/./);
    }
  });

  it.each([
    ["chat completions", ASKED],
    ["Anthropic's", NATIVE],
  ])("streams a message from an upstream of %s", async (_, asked) => {
    service.answers.chat = chatStream([{ content: "Hel" }], [{ content: "lo" }], [{}, "stop"]);
    service.answers.native = nativeStream(frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END));
    const stream = client.messages.stream(asked);
    const texts: string[] = [];
    stream.on("text", (text) => texts.push(text));
    const message = await stream.finalMessage();
    expect(texts.join("")).toBe("Hello");
    expect(message).toMatchObject({ model: asked.model, stop_reason: "end_turn" });
    expect(message.content).toMatchObject([{ type: "text", text: "Hello" }]);
  });

  it("streams thoughts and parallel calls", async () => {
    const piece = (index: number, id: string, city: string) => ({
      tool_calls: [{ index, id, function: { name: "weather", arguments: JSON.stringify({ city }) } }],
    });
    service.answers.chat = chatStream(
      [{ reasoning_content: "Hm" }],
      [piece(0, "a", "Rome")],
      [piece(1, "b", "Oslo")],
      [{}, "tool_calls"],
    );
    const tools = [TOOL as Anthropic.Tool];
    const asked = { ...ASKED, tools, max_tokens: 2_000, thinking: { type: "adaptive" as const } };
    const message = await client.messages.stream(asked).finalMessage();
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "Hm" },
      { type: "tool_use", id: "a", input: { city: "Rome" } },
      { type: "tool_use", id: "b", input: { city: "Oslo" } },
    ]);
    expect(message.stop_reason).toBe("tool_use");
  });

  it("runs tools until the model has answered", async () => {
    service.answers.chat = (request) => {
      const messages = request.body.messages as { role: string; content: string }[];
      const last = messages.at(-1);
      if (last?.role === "tool") return chatWhole({ content: `It is ${last.content}.` })(request);
      const called = { name: "weather", arguments: '{"city":"Rome"}' };
      const calls = [{ id: "call_1", type: "function", function: called }];
      chatWhole({ content: null, tool_calls: calls }, "tool_calls")(request);
    };
    const runner = client.beta.messages.toolRunner({
      ...ASKED,
      tools: [
        {
          ...(TOOL as Anthropic.Beta.BetaTool),
          type: "custom",
          run: async (input: unknown) => `sunny in ${(input as { city: string }).city}`,
          parse: (input: unknown) => input,
        },
      ],
    });
    const message = await runner;
    expect(message.content).toMatchObject([{ type: "text", text: "It is sunny in Rome." }]);
  });

  it("raises typed errors, with the id of the request", async () => {
    const unknown = await errorOf(client.messages.create({ ...ASKED, model: "nobody/nothing" }));
    expect(unknown).toBeInstanceOf(Anthropic.NotFoundError);
    expect(unknown.requestID).toMatch(/./);
    expect(unknown.type).toBe("not_found_error");
    const wrong = await errorOf(client.messages.create({ ...ASKED, max_tokens: 0 }));
    expect(wrong).toBeInstanceOf(Anthropic.BadRequestError);
    expect(wrong.message).toContain("max_tokens");
    const stranger = clientWith({ apiKey: "sk-nobody" });
    expect(await errorOf(stranger.messages.create(ASKED))).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(await errorOf(client.messages.batches.list())).toBeInstanceOf(Anthropic.NotFoundError);
  });

  it("does not repeat a request without credit, and repeats one for a busy upstream", async () => {
    const patient = clientWith({ maxRetries: 2 });
    const unpaid = await errorOf(patient.messages.create({ ...ASKED, model: "acme/priced" }));
    expect(unpaid.status).toBe(402);
    let calls = 0;
    service.answers.chat = (request) => {
      if (calls++ > 0) return chatWhole({ content: "Fine." })(request);
      request.response.writeHead(429, { "retry-after": "0.01" }).end();
    };
    expect(await patient.messages.create(ASKED)).toMatchObject({ content: [{ text: "Fine." }] });
    expect(calls).toBe(2);
  });

  it("raises when a stream breaks off or fails", async () => {
    service.answers.native = nativeStream(frames(NATIVE_START, ...NATIVE_TEXT));
    const broken = await errorOf(client.messages.stream(NATIVE).finalMessage());
    expect(broken.type).toBe("api_error");
    const error = { type: "overloaded_error", message: "Overloaded" };
    service.answers.native = nativeStream(frames(NATIVE_START, { type: "error", error }));
    expect((await errorOf(client.messages.stream(NATIVE).finalMessage())).type).toBe("overloaded_error");
    service.answers.chat = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      const chunk = { choices: [{ index: 0, delta: { content: "Hel" } }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => response.destroy());
    };
    await errorOf(client.messages.stream(ASKED).finalMessage());
  });

  it("knows what Anthropic has refused by the code, and what to change by the members beside it", async () => {
    const details = {
      error_code: "image_dimensions_too_large",
      max_side_length_pixels: 8_000,
      paths: ["a.0"],
    };
    const refuse = (status: number, more: object) => {
      const error = { type: "invalid_request_error", message: "An image is too large.", ...more };
      service.answers.native = ({ response }) => {
        response.statusCode = status;
        response.setHeader("content-type", "application/json").end(JSON.stringify({ type: "error", error }));
      };
      return errorOf(client.messages.create(NATIVE));
    };
    const refused = await refuse(400, { details: { ...details, operator: { id: 1 } } });
    expect(refused.errorCode).toBe(details.error_code);
    expect(refused.error).toMatchObject({ error: { type: "invalid_request_error", details } });
    expect(JSON.stringify(refused.error)).not.toContain("operator");
    expect((await refuse(400, { details: null })).errorCode).toBeNull();
    // That the provider is busy concerns the operator.
    expect((await refuse(429, { details })).errorCode).toBeNull();
  });

  it("counts tokens and lists models", async () => {
    const { model, messages } = ASKED;
    const few = await client.messages.countTokens({ model, messages });
    const many = await client.messages.countTokens({ model, messages, tools: [TOOL as Anthropic.Tool] });
    expect(few.input_tokens).toBeGreaterThan(0);
    expect(many.input_tokens).toBeGreaterThan(few.input_tokens + 10);
    const ids: string[] = [];
    for await (const listed of client.models.list({ limit: 2 })) ids.push(listed.id);
    expect(ids).toEqual(expect.arrayContaining(["acme/chat", "claude-acme", "acme/native"]));
    expect((await client.models.retrieve("claude-acme")).display_name).toBe("acme/chat");
  });
});
