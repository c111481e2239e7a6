import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import type { ReceivedRequest } from "../fixtures/model-server.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { chatStream, chatWhole, startMessagesService, TOOL } from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const extra = { google: { thought_signature: "c2lnbmF0dXJl" } };
const call = (more: object = {}) => ({
  id: "call_1",
  type: "function",
  function: { name: "weather", arguments: '{"city":"Rome"}' },
  extra_content: extra,
  ...more,
});

function asked() {
  const provider = createAnthropic({ baseURL: `${service.service.baseUrl}/v1`, apiKey: service.owner.key });
  return {
    model: provider("acme/chat"),
    prompt: "What is the weather in Rome?",
    maxOutputTokens: 100,
    maxRetries: 0,
    stopWhen: stepCountIs(3),
    tools: {
      weather: tool({
        description: TOOL.description,
        inputSchema: jsonSchema<{ city: string }>(TOOL.input_schema as object),
        execute: async ({ city }) => `sunny in ${city}`,
      }),
    },
  };
}

function hasResult({ body }: ReceivedRequest): boolean {
  return JSON.stringify(body.messages).includes('"role":"tool"');
}

/** The messages of the last request to the upstream. */
// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
const sent = (): any => service.chat.received.at(-1)?.body.messages;

describe("@ai-sdk/anthropic", () => {
  it("runs tools, and sends back what their provider wants back", async () => {
    const called = chatWhole({ content: null, tool_calls: [call()] }, "tool_calls");
    service.answers.chat = (request) =>
      (hasResult(request) ? chatWhole({ content: "Sunny." }) : called)(request);
    const { text, steps } = await generateText(asked());
    expect(text).toBe("Sunny.");
    expect(steps).toHaveLength(2);
    expect(sent()[1].tool_calls[0]).toMatchObject({ id: "call_1", extra_content: extra });
    expect(sent()[2]).toMatchObject({ role: "tool", content: "sunny in Rome" });
  });

  it("does the same with streams", async () => {
    const called = chatStream([{ tool_calls: [call({ index: 0 })] }], [{}, "tool_calls"]);
    const said = chatStream([{ content: "Sun" }], [{ content: "ny." }], [{}, "stop"]);
    service.answers.chat = (request) => (hasResult(request) ? said : called)(request);
    const result = streamText(asked());
    expect(await result.text).toBe("Sunny.");
    expect(await result.finishReason).toBe("stop");
    expect(sent()[1].tool_calls[0]).toMatchObject({ id: "call_1", extra_content: extra });
  });
});
