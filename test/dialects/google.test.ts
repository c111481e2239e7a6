import { describe, expect, it } from "vitest";
import {
  CONVERSATION,
  CREDENTIAL,
  chat,
  chunks,
  INEXPRESSIBLE,
  messageOf,
  NEUTRAL,
  replayVendor,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";

// The wire format of Google's Gemini API, v1beta, as its reference documents it.
const vendor = replayVendor("https://generativelanguage.googleapis.com/v1beta/models/*");
const upstream = upstreamOf("google");
const MODEL = "gemini-2.5-flash";
const HI = { messages: [{ role: "user", content: "hi" }] };
const USAGE = {
  promptTokenCount: 100,
  cachedContentTokenCount: 30,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 5,
  totalTokenCount: 112,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }],
};
/** Each piece of a stream tells the tokens so far. */
const USAGE_SO_FAR = { promptTokenCount: 100, candidatesTokenCount: 2, totalTokenCount: 102 };

function response(
  parts: object[],
  finishReason: string | null = "STOP",
  usageMetadata: object | null = USAGE,
) {
  return {
    candidates: [
      { index: 0, content: { role: "model", parts }, ...(finishReason === null ? {} : { finishReason }) },
    ],
    ...(usageMetadata === null ? {} : { usageMetadata }),
    modelVersion: MODEL,
    responseId: "q8ZxaLr2",
  };
}

const events = (...list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");

describe("a request to Google", () => {
  it("carries every field that the client set, translated, with the operator's credential", async () => {
    vendor.answers(200, response([{ text: "Fine." }]));
    await chat(upstream, MODEL, {
      messages: CONVERSATION,
      max_completion_tokens: 100,
      temperature: 1.5,
      top_p: 0.9,
      seed: 7,
      stop: "END",
      tools: [WEATHER_TOOL],
      tool_choice: "required",
    });
    const [sent] = vendor.sent;
    expect(sent?.headers.get("x-goog-api-key")).toBe(CREDENTIAL);
    expect(sent?.body).toMatchObject({
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 1.5,
        topP: 0.9,
        seed: 7,
        stopSequences: ["END"],
      },
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        {
          role: "user",
          parts: [{ text: "What is this?" }, { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }],
        },
        {
          role: "model",
          parts: [
            { text: "Let me look." },
            { functionCall: { name: "weather", args: { city: "Rome" } } },
            { functionCall: { name: "weather", args: { city: "Oslo" } } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "weather", response: { content: "sunny" } } },
            { functionResponse: { name: "weather", response: { content: "rain" } } },
          ],
        },
        { role: "user", parts: [{ text: "So?" }] },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
    });
    expect(sent?.body.tools[0].functionDeclarations[0].name).toBe("weather");
  });

  it("asks for JSON, by schema or without", async () => {
    vendor.answers(200, response([{ text: '{"a":"b"}' }]));
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    await chat(upstream, MODEL, {
      ...HI,
      response_format: { type: "json_schema", json_schema: { name: "s", schema } },
    });
    await chat(upstream, MODEL, { ...HI, response_format: { type: "json_object" } });
    expect(vendor.sent[0]?.body.generationConfig.responseMimeType).toBe("application/json");
    expect(JSON.stringify(vendor.sent[0]?.body.generationConfig)).toContain('"required":["a"]');
    expect(vendor.sent[1]?.body.generationConfig).toEqual({ responseMimeType: "application/json" });
  });

  it("asks for one value by an enum, wherever a schema stands, because Google has no const", async () => {
    vendor.answers(200, response([{ text: "{}" }]));
    const found = { const: "a" };
    const data = { default: found, enum: [found], examples: [found] };
    const schemaOf = (one: object) => ({
      properties: { const: one, other: { ...data, not: one } },
      patternProperties: { "^x": one },
      dependencies: { a: ["b"], b: one },
      dependentSchemas: { a: one },
      definitions: {
        a: { allOf: [one, Object.fromEntries(["if", "then", "else"].map((name) => [name, one]))] },
      },
      $defs: { a: { prefixItems: [one], contains: one, additionalItems: one, unevaluatedItems: true } },
    });
    const json_schema = { name: "s", schema: schemaOf(found) };
    await chat(upstream, MODEL, { ...HI, response_format: { type: "json_schema", json_schema } });
    const { responseJsonSchema } = vendor.sent[0]?.body.generationConfig ?? {};
    expect(responseJsonSchema).toEqual(schemaOf({ enum: ["a"] }));
  });

  it("returns what belongs to a tool call, such as its thought signature", async () => {
    vendor.answers(
      200,
      response([{ functionCall: { name: "weather", args: { city: "Rome" } }, thoughtSignature: "c2ln" }]),
    );
    const first = await whole(chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL] }));
    const { message, finish_reason: finish } = first.choices[0];
    expect(finish).toBe("tool_calls");
    const [call] = message.tool_calls;
    expect(call.extra_content).toEqual({ google: { thought_signature: "c2ln" } });
    // Conversations that began before the name was that of Google's own endpoint go on.
    const former = { ...call, extra_content: { google: { thoughtSignature: "c2ln" } } };
    for (const tool_calls of [[call], [former]]) {
      vendor.answers(200, response([{ text: "Fine." }]));
      const result = { role: "tool", tool_call_id: call.id, content: "sunny" };
      const messages = [...HI.messages, { ...message, tool_calls }, result];
      await chat(upstream, MODEL, { tools: [WEATHER_TOOL], messages });
      expect(JSON.stringify(vendor.sent.at(-1)?.body.contents)).toContain('"thoughtSignature":"c2ln"');
    }
  });

  it("takes what belongs to a tool call beside the message, too, where OpenAI's agents for TypeScript repeat it", async () => {
    vendor.answers(200, response([{ text: "Fine." }]));
    const extra_content = { google: { thought_signature: "c2ln" } };
    const named = { name: "weather", arguments: "{}" };
    const call = { id: "a", type: "function", function: named, extra_content };
    const said = { role: "assistant", content: null, tool_calls: [call], extra_content };
    const result = { role: "tool", tool_call_id: "a", content: "sunny" };
    const messages = [...HI.messages, said, result];
    await chat(upstream, MODEL, { tools: [WEATHER_TOOL], messages });
    expect(vendor.sent[0]?.body.contents[1].parts).toMatchObject([{ thoughtSignature: "c2ln" }]);
  });

  it.each([...INEXPRESSIBLE, [{ presence_penalty: 0.5 }, "presence_penalty"]] as const)(
    "is refused when Google has no equivalent of a field: %j",
    async (fields, param) => {
      await expect(chat(upstream, MODEL, { ...HI, ...fields })).rejects.toMatchObject({
        code: "invalid_request",
        param,
      });
      expect(vendor.sent).toEqual([]);
    },
  );

  it("leaves out, and names, what AutoGen, LangChain and LlamaIndex send to every model", async () => {
    vendor.answers(200, response([{ text: "Fine." }]));
    const answer = await chat(upstream, MODEL, {
      messages: [
        { role: "user", name: "user", content: "hi" },
        { role: "assistant", name: "planner", content: "Hello." },
        { role: "user", content: "So?" },
      ],
      tools: [WEATHER_TOOL],
      parallel_tool_calls: false,
      verbosity: "low",
    });
    const ignored = ["messages.0.name", "messages.1.name", "verbosity", "parallel_tool_calls"];
    expect(answer.kind === "whole" && answer.ignored).toEqual(ignored);
  });

  it("is refused as invalid when it can't be translated", async () => {
    const schema = { type: "object", properties: { a: null } };
    const format = { type: "json_schema", json_schema: { name: "s", schema } };
    await expect(chat(upstream, MODEL, { ...HI, response_format: format })).rejects.toMatchObject({
      code: "invalid_request",
    });
    expect(vendor.sent).toEqual([]);
  });

  it("with a wrong credential is the service's fault, not the client's", async () => {
    vendor.answers(400, {
      error: {
        code: 400,
        message: "API key not valid.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
    });
    await expect(chat(upstream, MODEL, HI)).rejects.toMatchObject({ status: 401, failure: { status: 502 } });
  });

  it.each(NEUTRAL)("is sent when such a field has its default: %j", async (fields) => {
    vendor.answers(200, response([{ text: "Fine." }]));
    expect((await whole(chat(upstream, MODEL, { ...HI, ...fields }))).choices[0].message.content).toBe(
      "Fine.",
    );
  });
});

describe("an answer from Google", () => {
  it("has text, thoughts, tool calls and usage in OpenAI's format", async () => {
    vendor.answers(
      200,
      response([
        { text: "Hm.", thought: true },
        { text: "I look." },
        { functionCall: { name: "weather", args: { city: "Rome" } } },
        { functionCall: { name: "weather", args: { city: "Oslo" } } },
      ]),
    );
    const answer = await whole(chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL] }));
    expect(answer).toMatchObject({
      model: "acme/chat",
      choices: [
        {
          finish_reason: "tool_calls",
          message: {
            content: "I look.",
            reasoning_content: "Hm.",
            tool_calls: [
              { type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
              { type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
            ],
          },
        },
      ],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 12,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    });
    const [one, two] = answer.choices[0].message.tool_calls;
    expect(one.id).not.toBe(two.id);
  });

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["LANGUAGE", "content_filter"],
    ["OTHER", "stop"],
  ])("that finished with %s finishes with %s", async (reason, finish) => {
    vendor.answers(200, response([{ text: "Fine." }], reason));
    expect((await whole(chat(upstream, MODEL, HI))).choices[0].finish_reason).toBe(finish);
  });

  it("is streamed in pieces, whole tool calls with their index, usage last", async () => {
    const rome = { functionCall: { name: "weather", args: { city: "Rome" } }, thoughtSignature: "c2ln" };
    vendor.streams(
      events(
        response([{ text: "I " }], null, USAGE_SO_FAR),
        response([{ text: "look." }], null, USAGE_SO_FAR),
        response([rome], null, USAGE_SO_FAR),
        response([{ functionCall: { name: "weather", args: { city: "Oslo" } } }], null, USAGE_SO_FAR),
        // The last piece has no text, and the signature of the text before it.
        response([{ text: "", thoughtSignature: "dGV4dA==" }], "STOP"),
      ),
    );
    const found = await chunks(chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL], stream: true }));
    expect(messageOf(found)).toMatchObject({
      content: "I look.",
      calls: [
        {
          name: "weather",
          arguments: '{"city":"Rome"}',
          extra: { google: { thought_signature: "c2ln" } },
        },
        { name: "weather", arguments: '{"city":"Oslo"}' },
      ],
      finish: "tool_calls",
      usage: { prompt_tokens: 100, completion_tokens: 12 },
    });
    // OpenAI's clients read the function of each piece of a call.
    const calls = found.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const added = calls.map((call) => call.function?.arguments);
    expect(added).toEqual(["", '{"city":"Rome"}', "", '{"city":"Oslo"}']);
  });

  it("that ends without a finish reason is not a complete answer", async () => {
    const cut = response([{ text: "so far" }], null, USAGE_SO_FAR);
    vendor.streams(events(cut));
    await expect(chunks(chat(upstream, MODEL, { ...HI, stream: true }))).rejects.toMatchObject({
      fault: "cut",
    });
    vendor.answers(200, cut);
    await expect(chat(upstream, MODEL, HI)).rejects.toMatchObject({ fault: "cut" });
  });

  it.each([
    [400, "INVALID_ARGUMENT", 400, "invalid_request"],
    [401, "UNAUTHENTICATED", 502, "upstream_error"],
    [403, "PERMISSION_DENIED", 502, "upstream_error"],
    [429, "RESOURCE_EXHAUSTED", 503, "server_is_overloaded"],
    [500, "INTERNAL", 502, "upstream_error"],
    [503, "UNAVAILABLE", 503, "server_is_overloaded"],
  ])("of status %i %s is answered with %i %s", async (status, name, expected, code) => {
    vendor.answers(status, { error: { code: status, message: "told", status: name } });
    const thrown = await chat(upstream, MODEL, HI).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ status, failure: { status: expected, code } });
  });
});
