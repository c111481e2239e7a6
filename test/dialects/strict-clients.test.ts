import { describe, expect, it } from "vitest";
import {
  chat,
  chunks,
  replayVendor,
  respond,
  streamText,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";
import { answer, streamOf } from "./google-answers.ts";

// Libraries that are generated from a specification refuse an answer that lacks a member which the specification requires: those of OpenRouter, and
// those of Open Responses.
const vendor = replayVendor(/.*/);
const google = upstreamOf("google");
const sandbox = upstreamOf("sandbox", { baseUrl: "sandbox:" });
const MODEL = "gemini-2.5-flash";
const HI = { messages: [{ role: "user", content: "Hi" }] };
const { function: weather } = WEATHER_TOOL;

describe("a chat completion that the service writes itself", () => {
  it("has a fingerprint, which OpenRouter's libraries want to be null or a text, and in a stream only a text", async () => {
    vendor.answers(200, answer([{ text: "Fine." }]));
    expect(await whole(chat(google, MODEL, HI))).toHaveProperty("system_fingerprint", null);
    expect(await whole(chat(sandbox, "echo", HI))).toHaveProperty("system_fingerprint", null);
    vendor.streams(streamOf(answer([{ text: "Fine." }])));
    for (const chunk of await chunks(chat(google, MODEL, { ...HI, stream: true }))) {
      expect(chunk).not.toHaveProperty("system_fingerprint");
    }
  });
});

describe("a chat completion that the service passes on", () => {
  it("has a fingerprint where it is whole, and that of its server if there is one", async () => {
    const upstream = upstreamOf("openai", { baseUrl: "https://models.example/v1" });
    const completion = { choices: [{ index: 0, message: { content: "Fine." }, finish_reason: "stop" }] };
    vendor.answers(200, completion);
    const { model: _, ...others } = await whole(chat(upstream, "m", HI));
    expect(others).toEqual({ ...completion, system_fingerprint: null });
    vendor.answers(200, { ...completion, system_fingerprint: "fp_1" });
    expect(await whole(chat(upstream, "m", HI))).toHaveProperty("system_fingerprint", "fp_1");
    vendor.streams(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`,
    );
    for (const chunk of await chunks(chat(upstream, "m", { ...HI, stream: true }))) {
      expect(chunk).not.toHaveProperty("system_fingerprint");
    }
  });
});

describe("a response that the service writes itself", () => {
  const request = {
    input: "Hi",
    tools: [
      { type: "function", name: "bare" },
      { type: "function", ...weather, strict: true },
    ],
  };
  const REQUIRED = {
    // OpenAI's libraries require it, too: `null` says that the request has no special access.
    access_programs: null,
    completed_at: null,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [
      { type: "function", name: "bare", description: null, parameters: null, strict: null },
      { type: "function", ...weather, strict: true },
    ],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
  };

  it("has every member that the Open Responses specification requires, whole and in the events of a stream", async () => {
    vendor.answers(200, answer([{ text: "Fine." }]));
    const { completed_at: _, ...required } = REQUIRED;
    const {
      created_at: created,
      completed_at: completed,
      ...response
    } = await whole(respond(google, MODEL, request));
    expect(response).toMatchObject({ ...required, status: "completed" });
    expect([created, completed]).toEqual([1_000, 1_002]);
    vendor.streams(streamOf(answer([{ text: "Fine." }])));
    const events = (await streamText(respond(google, MODEL, { ...request, stream: true }))).matchAll(
      /^data: (.*)$/gm,
    );
    const states = [...events].flatMap(([, data = ""]) => JSON.parse(data).response ?? []);
    const begun = { ...REQUIRED, status: "in_progress" };
    expect(states).toMatchObject([begun, begun, { ...REQUIRED, status: "completed", completed_at: 1_002 }]);
  });

  it("tells no time of its completion if it is incomplete", async () => {
    vendor.answers(200, answer([{ text: "Fine" }], { finishReason: "MAX_TOKENS" }));
    const response = await whole(respond(google, MODEL, request));
    expect(response).toMatchObject({
      ...REQUIRED,
      status: "incomplete",
      incomplete_details: expect.anything(),
    });
  });

  it("has no encrypted content in a thought that is not signed, or not complete", async () => {
    const include = ["reasoning.encrypted_content"];
    vendor.streams(streamOf(answer([{ text: "Hm.", thought: true }, { text: "Fine." }])));
    const text = await streamText(respond(google, MODEL, { ...request, include, stream: true }));
    expect(text).toContain('"type":"reasoning"');
    expect(text).not.toContain('"encrypted_content"');
    const signed = { text: "Hm.", thought: true, thoughtSignature: "c2ln" };
    vendor.answers(200, answer([signed, { text: "Fine." }]));
    const { output } = await whole(respond(google, MODEL, { ...request, include }));
    expect(output[0].encrypted_content).toMatch(/^ost1\./);
  });

  it("may be asked for without the penalties that the specification has", async () => {
    vendor.answers(200, answer([{ text: "Fine." }]));
    const neutral = { input: "Hi", frequency_penalty: 0, presence_penalty: 0 };
    expect((await respond(google, MODEL, neutral)).ignored).toEqual([]);
    expect((await respond(google, MODEL, { ...neutral, presence_penalty: 1 })).ignored).toEqual([
      "presence_penalty",
    ]);
  });
});
