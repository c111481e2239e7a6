import { describe, expect, it } from "vitest";
import { catalogOf, uncatalogued } from "../../server/src/catalog/catalog.ts";
import { signatureSealer } from "../../server/src/conversation/sealed-signature.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { Gateway } from "../../server/src/gateway/gateway.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";
import type { WireAnswer } from "../../server/src/upstream/dialect.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { responsesRequest } from "../../server/src/wire/responses/responses-request.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";
import {
  CREDENTIAL,
  chat,
  chunks,
  messageOf,
  replayVendor,
  respond,
  streamText,
  upstreamOf,
  whole,
} from "./dialect.ts";

// Responses that upstreams should not give, and what a client is told then.
const vendor = replayVendor("https://models.example/v1/responses");
const upstream = upstreamOf("openai-responses", { baseUrl: "https://models.example/v1" });
const HI = { messages: [{ role: "user", content: "x" }] };
const MALFORMED = { failure: { code: "upstream_error" } };
const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};
const ITEM = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "so far", annotations: [] }],
};
const response = (fields: object) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "inner",
  status: "completed",
  output: [ITEM],
  usage: USAGE,
  ...fields,
});

function events(...list: { type: string; [name: string]: unknown }[]): string {
  return list
    .map(
      (event, number) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`,
    )
    .join("");
}

const CREATED = {
  type: "response.created",
  response: response({ status: "in_progress", output: [], usage: null }),
};
const DONE = { type: "response.output_item.done", output_index: 0, item: ITEM };

/** The whole text of a stream, or that of its failure. */
async function textOf(request: object): Promise<string> {
  const answer = await respond(upstream, "inner", { input: "x", stream: true, ...request });
  if (answer.kind !== "stream") throw new Error("not a stream");
  let text = "";
  try {
    for await (const piece of answer.events) text += piece;
  } catch {
    return text + answer.controlEvents.failure(new Failure("upstream_error", "broken"));
  }
  return text + answer.last(answer.usage() ?? { promptTokens: 7, completionTokens: 3, cachedTokens: 0 }, {});
}

async function drained(answer: WireAnswer): Promise<void> {
  if (answer.kind !== "stream") throw new Error("not a stream");
  for await (const _ of answer.events);
}

const lastOf = (text: string) => JSON.parse(/data: (.*)\n\n$/.exec(text)?.[1] ?? "null");

describe("a response of an upstream", () => {
  it("has each item once if none or only some of its events have positions", async () => {
    const call = {
      id: "fc_1",
      type: "function_call",
      call_id: "call_1",
      name: "look",
      arguments: '{"at":1}',
    };
    const pieces = [
      { type: "response.output_text.delta", item_id: "msg_1", delta: "so " },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "far" },
      { type: "response.output_item.done", output_index: 0, item: ITEM },
      { type: "response.output_item.added", item: { ...call, arguments: "" } },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", delta: call.arguments },
      { type: "response.output_item.done", output_index: 1, item: call },
    ];
    const completed = { type: "response.completed", response: response({ output: [ITEM, call] }) };
    vendor.streams(events(CREATED, ...pieces, completed));
    const found = await chunks(chat(upstream, "inner", { messages: [], stream: true }));
    const deltas = found.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta));
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe("so far");
    const calls = deltas.flatMap(({ tool_calls: parts }) => parts ?? []);
    expect(new Set(calls.map(({ index }) => index)).size).toBe(1);
    expect(calls.map((part) => part.function.arguments ?? "").join("")).toBe(call.arguments);
  });

  it("is asked for again without encrypted reasoning if the model has none, and then at once", async () => {
    const refusal = {
      error: { message: "Encrypted content is not supported with this model.", param: "include" },
    };
    const fresh = upstreamOf("openai-responses", { baseUrl: "https://models.example/v1" });
    for (const ask of [
      () => respond(fresh, "inner", { input: "x" }),
      () => chat(fresh, "other", { messages: [{ role: "user", content: "x" }] }),
    ]) {
      vendor.sent.length = 0;
      vendor.answers(200, response({}));
      vendor.answersOnce(400, refusal);
      await whole(ask());
      expect(vendor.sent.map(({ body }) => body.include)).toEqual([
        ["reasoning.encrypted_content"],
        undefined,
      ]);
      await whole(ask());
      expect(vendor.sent).toHaveLength(3);
      expect(vendor.sent[2]?.body.include).toBeUndefined();
    }
  });

  it("has the items of its stream if its last event lacks them, for the client and for the store", async () => {
    const completed = { type: "response.completed", response: response({ output: [] }) };
    vendor.streams(events(CREATED, DONE, completed));
    expect(lastOf(await textOf({})).response.output).toEqual([ITEM]);
    const answer = await respond(upstream, "inner", { input: "x", stream: true });
    if (answer.kind !== "stream") throw new Error("not a stream");
    for await (const _ of answer.events);
    expect(
      JSON.parse(answer.stored?.({ promptTokens: 1, completionTokens: 1, cachedTokens: 0 }) ?? "").output,
    ).toEqual([ITEM]);
  });

  it.each([
    ["a delta", { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, delta: "x" }],
    ["the end", { type: "response.completed", response: response({}) }],
  ])("is malformed if %s comes before its beginning", async (_, event) => {
    vendor.streams(events(event));
    const answer = await respond(upstream, "inner", { input: "x", stream: true });
    if (answer.kind !== "stream") throw new Error("not a stream");
    await expect(answer.events[Symbol.asyncIterator]().next()).rejects.toMatchObject(MALFORMED);
  });

  it.each([
    ["implausible", { input_tokens: -5, output_tokens: 1e300 }, 7],
    ["without details", { input_tokens: 10, output_tokens: 5, total_tokens: 15 }, 10],
  ])("has a complete usage for the client if the upstream's is %s", async (_, usage, inputTokens) => {
    vendor.streams(events(CREATED, DONE, { type: "response.completed", response: response({ usage }) }));
    expect(lastOf(await textOf({})).response.usage).toMatchObject({
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    });
  });

  it("that fails in its middle does not say that it is stored", async () => {
    vendor.streams(events(CREATED, DONE));
    expect(lastOf(await textOf({}))).toMatchObject({
      type: "response.failed",
      response: { status: "failed", store: false },
    });
  });

  it.each(["in_progress", "cancelled", "queued"])("that is %s is no answer", async (status) => {
    vendor.answers(200, response({ status }));
    await expect(respond(upstream, "inner", { input: "x" })).rejects.toMatchObject(MALFORMED);
    await expect(chat(upstream, "inner", HI)).rejects.toMatchObject(MALFORMED);
  });

  it("may be kept alive before it begins", async () => {
    const completed = { type: "response.completed", response: response({}) };
    const limits = { type: "codex.rate_limits", rate_limits: { allowed: true } };
    vendor.streams(events({ type: "keepalive" }, limits, CREATED, DONE, completed));
    const text = await textOf({});
    expect(text).not.toContain("keepalive");
    expect(text).not.toContain("rate_limits");
    expect([...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => number)).toEqual([
      "0",
      "1",
      "2",
    ]);
  });

  it("may have its items only in its last event, also for other formats", async () => {
    const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" };
    vendor.streams(
      events(CREATED, { type: "response.completed", response: response({ output: [ITEM, call] }) }),
    );
    const text = await streamText(chat(upstream, "inner", { ...HI, stream: true }));
    expect(text).toContain('"content":"so far"');
    expect(text).toContain('"name":"weather"');
    expect(text).toContain('"finish_reason":"tool_calls"');
  });

  const texts = (type: string, ...list: string[]) => list.map((text) => ({ type, text }));
  const summary = texts("summary_text", "One.", "Two.");
  const content = texts("reasoning_text", "Raw one.", "Raw two.");

  it.each([
    { parts: { summary, content: [] }, thoughts: "One.\n\nTwo." },
    { parts: { summary: [], content }, thoughts: "Raw one.\n\nRaw two." },
    { parts: { summary, content }, thoughts: "One.\n\nTwo." },
  ])("tells other formats of a thought once, part by part: $thoughts", async ({ parts, thoughts }) => {
    const item = { id: "rs_1", type: "reasoning", ...parts };
    const of = { item_id: "rs_1", output_index: 0 };
    const streamed = (kind: "summary" | "content", added: string, delta: string) =>
      parts[kind].flatMap((part) => [
        { type: added, ...of, part: { ...part, text: "" } },
        ...[...part.text].map((character) => ({ type: delta, ...of, delta: character })),
      ]);
    vendor.answersOnce(200, response({ output: [item] }));
    const { choices } = await whole(chat(upstream, "inner", HI));
    expect(choices[0].message.reasoning_content).toBe(thoughts);
    vendor.streams(
      events(
        CREATED,
        ...streamed(
          "summary",
          "response.reasoning_summary_part.added",
          "response.reasoning_summary_text.delta",
        ),
        ...streamed("content", "response.content_part.added", "response.reasoning_text.delta"),
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: response({ output: [item] }) },
      ),
    );
    const { reasoning } = messageOf(await chunks(chat(upstream, "inner", { ...HI, stream: true })));
    expect(reasoning).toBe(thoughts);
  });

  it("tells in a stream the thought that begins before its summary, for which the stream does not wait", async () => {
    const of = { item_id: "rs_1", output_index: 0 };
    const item = { id: "rs_1", type: "reasoning", summary, content };
    vendor.streams(
      events(
        CREATED,
        { type: "response.reasoning_text.delta", ...of, delta: "Raw one." },
        { type: "response.reasoning_summary_text.delta", ...of, delta: "One." },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: response({ output: [item] }) },
      ),
    );
    const { reasoning } = messageOf(await chunks(chat(upstream, "inner", { ...HI, stream: true })));
    expect(reasoning).toBe("Raw one.");
  });

  it.each(["cyber_policy", "bio_policy", "content_policy_violation", "image_content_policy_violation"])(
    "that is refused with %s is the client's to change, and no fault of the upstream",
    async (code) => {
      const failed = { status: "failed", error: { code, message: "This is not allowed." } };
      vendor.streams(events(CREATED, { type: "response.failed", response: response(failed) }));
      const refused = { status: 400, failure: { code: "invalid_request", message: "This is not allowed." } };
      await expect(
        streamText(respond(upstream, "inner", { input: "x", stream: true })),
      ).rejects.toMatchObject(refused);
      await expect(streamText(chat(upstream, "inner", { ...HI, stream: true }))).rejects.toMatchObject(
        refused,
      );
    },
  );

  it("is malformed if it is nested too deeply to be written", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    vendor.streams(JSON.stringify(response({ extra: "DEEP" })).replace('"DEEP"', deep));
    await expect(respond(upstream, "inner", { input: "x" })).rejects.toMatchObject(MALFORMED);
  });
});

describe("the images that an upstream has generated for a response", () => {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  const sizes = { input_tokens: 50, output_tokens: 4_000, total_tokens: 4_050 };
  const counted = { promptTokens: 60, completionTokens: 4_005, cachedTokens: 0 };
  it.each([
    [
      "part by part",
      {
        ...sizes,
        input_tokens_details: { image_tokens: 40, text_tokens: 10 },
        output_tokens_details: { image_tokens: 3_900, text_tokens: 100 },
      },
      { ...counted, imagePromptTokens: 40, imageCompletionTokens: 3_900 },
    ],
    ["in total", sizes, { ...counted, imageCompletionTokens: 4_000 }],
    ["with nothing", { input_tokens: 0, output_tokens: 0 }, { promptTokens: 10, completionTokens: 5 }],
    ["wrongly", { ...sizes, output_tokens: -1 }, { promptTokens: 10, completionTokens: 5 }],
  ])("are charged as OpenAI reports them %s, beside the usage", async (_, image_gen, expected) => {
    const answered = response({ usage, tool_usage: { image_gen, web_search: { num_requests: 0 } } });
    vendor.answersOnce(200, answered);
    expect((await respond(upstream, "inner", { input: "x" })).usage).toMatchObject(expected);
    vendor.streams(events(CREATED, { type: "response.completed", response: answered }));
    const stream = await respond(upstream, "inner", { input: "x", stream: true });
    await streamText(Promise.resolve(stream));
    expect(stream.kind === "stream" && stream.usage()).toMatchObject(expected);
  });
});

describe("an upstream's response that is nested too deeply to be written again", () => {
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const deepened = (text: string) => text.replace('"DEEP"', deep);
  const chatStream = () => chunks(chat(upstream, "inner", { messages: [], stream: true }));

  it("is malformed if that is its error, forwarded and translated", async () => {
    const failure = { type: "error", code: "x", message: "DEEP" };
    vendor.streams(deepened(events(CREATED, failure)));
    const answer = await respond(upstream, "inner", { input: "x", stream: true });
    await expect(drained(answer)).rejects.toMatchObject(MALFORMED);
    vendor.streams(deepened(events(failure)));
    await expect(chatStream()).rejects.toMatchObject(MALFORMED);
    vendor.streams(deepened(JSON.stringify(response({ status: "failed", error: failure }))));
    await expect(chat(upstream, "inner", { messages: [] })).rejects.toMatchObject(MALFORMED);
  });

  it("is malformed if that is an item, and its stream ends with that failure", async () => {
    vendor.streams(deepened(events(CREATED, { ...DONE, item: { ...ITEM, content: "DEEP" } })));
    const answer = await respond(upstream, "inner", { input: "x", stream: true });
    await expect(drained(answer)).rejects.toMatchObject(MALFORMED);
    if (answer.kind !== "stream") throw new Error("not a stream");
    expect(answer.controlEvents.failure(new Failure("upstream_error", "broken"))).toContain(
      "response.failed",
    );
  });
});

describe("a stream that fails after its upstream has quoted the credential", () => {
  it("tells the failure without the credential", async () => {
    const model = { ...uncatalogued("acme", "chat", new Date(0)), id: "acme/chat" };
    const owner = { ...upstream, name: "acme" };
    const gateway = new Gateway({
      catalog: catalogOf([model], [owner]),
      dialects: openDialects(DIALECTS, {
        transport: new FetchTransport(),
        now: () => new Date(0),
        monotonicMs: () => 0,
      }),
      random: Math.random,
      now: () => new Date(0),
      monotonicMs: () => 0,
      onCredentialRefused: () => {},
    });
    const quoted = {
      ...ITEM,
      content: [{ type: "output_text", text: `you sent ${CREDENTIAL}`, annotations: [] }],
    };
    vendor.streams(events(CREATED, { ...DONE, item: quoted }));
    const body = JsonBody.parse('{"model":"acme/chat","input":"x","stream":true}');
    if (body === null) throw new Error("no body");
    const { answer } = await gateway.answer({
      model,
      request: responsesRequest(body, {
        stream: true,
        isStored: false,
        previousResponseId: null,
        firstOwn: 0,
        signatures: signatureSealer(new Sealer([new Uint8Array(SEAL_KEY_BYTES)]), "test"),
      }),
      signal: new AbortController().signal,
      maxTokens: null,
      estimate: () => Promise.reject(new Error("not asked for")),
    });
    if (answer.kind !== "stream") throw new Error("not a stream");
    let text = "";
    await expect(
      (async () => {
        for await (const piece of answer.events) text += piece;
      })(),
    ).rejects.toThrow();
    text += answer.controlEvents.failure(new Failure("upstream_error", "broken"));
    expect(text).toContain("response.failed");
    expect(text).toContain("[credential]");
    expect(text).not.toContain(CREDENTIAL);
  });
});
