import { describe, expect, it } from "vitest";
import { messageOf } from "../dialects/dialect.ts";
import { sendChat } from "../fixtures/request.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  answersWhole,
  beginningOf,
  eventsOfUpstream,
  MESSAGE,
  THOUGHT,
  upstreamResponse,
} from "./native-responses.ts";
import { answersMessage, sentTo, startResponsesService, streamsEvents } from "./responses-service.ts";

const running = sharedByFile(startResponsesService);

describe("a chat completion of an upstream with the Responses API", () => {
  const ask = async (body: object) =>
    await sendChat(running.service.baseUrl, running.key, { model: "acme/native", ...body });
  const CALL = {
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    name: "first",
    arguments: '{"x":1}',
    status: "completed",
  };

  it("is translated, whole and streamed", async () => {
    running.answers.native = answersWhole(upstreamResponse({ output: [THOUGHT, MESSAGE, CALL] }));
    const whole = await (await ask({})).json();
    expect(whole).toMatchObject({
      model: "acme/native",
      choices: [
        {
          finish_reason: "tool_calls",
          message: {
            content: "from afar",
            reasoning_content: "hmm",
            tool_calls: [{ id: "call_1", function: { name: "first", arguments: '{"x":1}' } }],
          },
        },
      ],
      usage: { prompt_tokens: 30, completion_tokens: 12, completion_tokens_details: { reasoning_tokens: 5 } },
    });
    const response = upstreamResponse();
    const delta = (text: string) => ({
      type: "response.function_call_arguments.delta",
      output_index: 2,
      item_id: CALL.id,
      delta: text,
    });
    running.answers.native = streamsEvents([
      ...beginningOf(response),
      { type: "response.output_item.added", output_index: 2, item: { ...CALL, arguments: "" } },
      delta('{"x":'),
      delta("1}"),
      { type: "response.output_item.done", output_index: 2, item: CALL },
      { type: "response.completed", response },
    ]);
    const text = await (await ask({ stream: true })).text();
    expect(messageOf(textChunks(text))).toMatchObject({
      content: "from afar",
      reasoning: "hmm",
      finish: "tool_calls",
      calls: [{ id: "call_1", name: "first", arguments: '{"x":1}' }],
    });
  });

  it("has a usage even if the upstream tells none", async () => {
    running.answers.native = answersWhole(upstreamResponse({ usage: null }));
    const { usage } = await (await ask({})).json();
    running.answers.native = streamsEvents(eventsOfUpstream(upstreamResponse({ usage: null })));
    const streamed = await ask({ stream: true, stream_options: { include_usage: true } });
    const last = textChunks(await streamed.text()).at(-1);
    expect(last).toMatchObject({ choices: [] });
    for (const told of [usage, last?.usage]) {
      expect(told.prompt_tokens).toBeGreaterThan(0);
      expect(told.completion_tokens).toBeGreaterThan(0);
    }
  });

  it("calls a tool without parameters with an empty object, which clients parse, and does not complete a call that was cut off", async () => {
    const callOf = async (item: object, response: object = {}) => {
      const body = upstreamResponse({ output: [item], ...response });
      running.answers.native = answersWhole(body);
      const { message, finish_reason: reason } = (await (await ask({})).json()).choices[0];
      running.answers.native = streamsEvents([
        { type: "response.created", response: { ...body, output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress" } },
        { type: "response.output_item.done", output_index: 0, item },
        { type: `response.${body.status}`, response: body },
      ]);
      const streamed = messageOf(textChunks(await (await ask({ stream: true })).text()));
      expect(streamed.calls[0]?.arguments).toBe(message.tool_calls[0].function.arguments);
      return [message.tool_calls[0].function.arguments, reason];
    };
    expect(await callOf({ ...CALL, arguments: "" })).toEqual(["{}", "tool_calls"]);
    const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    expect(await callOf({ ...CALL, arguments: "", status: "incomplete" }, cut)).toEqual(["", "length"]);
  });

  it("is asked for without being stored", async () => {
    running.answers.native = answersWhole(upstreamResponse());
    await ask({
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "first", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "1" },
      ],
      tools: [{ type: "function", function: { name: "first", parameters: { type: "object" } } }],
      tool_choice: { type: "function", function: { name: "first" } },
      max_completion_tokens: 50,
      reasoning_effort: "low",
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
    });
    expect(sentTo(running.native)).toEqual({
      model: "inner",
      input: [
        { type: "message", role: "system", content: [{ type: "input_text", text: "be brief" }] },
        {
          type: "message",
          role: "user",
          content: [{ type: "input_image", image_url: "https://example.com/a.png", detail: "auto" }],
        },
        { type: "function_call", call_id: "call_1", name: "first", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "1" },
      ],
      store: false,
      include: ["reasoning.encrypted_content"],
      max_output_tokens: 50,
      tools: [{ type: "function", name: "first", parameters: { type: "object" }, strict: false }],
      tool_choice: { type: "function", name: "first" },
      text: { format: { type: "json_schema", name: "a", schema: { type: "object" }, strict: false } },
      reasoning: { effort: "low" },
    });
  });

  it("refuses what the upstream has no equivalent of", async () => {
    for (const [field, value] of Object.entries({
      stop: "x",
      seed: 1,
      presence_penalty: 1,
      logit_bias: { 1: 2 },
    })) {
      const answer = await ask({ [field]: value });
      expect(answer.status).toBe(400);
      expect((await answer.json()).error.param).toBe(field);
    }
  });

  it("fails when the upstream breaks off", async () => {
    running.answers.native = streamsEvents(beginningOf(upstreamResponse()));
    expect(await (await ask({ stream: true })).text()).toContain('"code":"upstream_error"');
    running.answers.native = answersMessage({ content: "no response" });
    expect((await ask({})).status).toBe(502);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: chunks of a wire format
function textChunks(text: string): any[] {
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)));
}
