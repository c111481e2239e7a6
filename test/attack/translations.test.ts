import { describe, expect, it } from "vitest";
import type { WireAnswer } from "../../server/src/upstream/dialect.ts";
import { chat, messages, replayVendor, respond, streamText, upstreamOf, whole } from "../dialects/dialect.ts";

// Requests and answers whose translation would take minutes if its time grew with the square of their size. While one is translated, the
// process does nothing else. There is one deadline for all: the test's.

const vendor = replayVendor(/https:\/\/models\.example\/v1\//);
const baseUrl = "https://models.example/v1";
const openai = upstreamOf("openai", { baseUrl });
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic", { baseUrl });
const USER = { role: "user", content: "hi" };
const ASKED = { messages: [USER], max_tokens: 100 };
const STREAMED = { ...ASKED, stream: true };

const times = <Item>(count: number, of: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => of(index));
const called = (id: string, input = "{}") => ({
  id,
  type: "function",
  function: { name: "look", arguments: input },
});
const chunk = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
/** Reads a stream, and keeps nothing of it. */
async function readToEnd(answer: Promise<WireAnswer>): Promise<void> {
  const begun = await answer;
  if (begun.kind !== "stream") throw new Error("not a stream");
  for await (const _ of begun.events);
}
const USAGE = { prompt_tokens: 1, completion_tokens: 1 };
const END = `${chunk({}, "tool_calls")}data: [DONE]\n\n`;

describe("a request of a client", () => {
  it("may have thousands of calls with the same id, whose results stay in their order", async () => {
    vendor.answers(200, { content: [{ type: "text", text: "ok" }], stop_reason: "end_turn", usage: {} });
    const count = 9_000;
    const id = `call.${"x".repeat(700)}`;
    await whole(
      chat(anthropic, "claude-x", {
        messages: [
          USER,
          { role: "assistant", content: null, tool_calls: times(2 * count, () => called(id)) },
          ...times(count, (index) => ({ role: "tool", tool_call_id: id, content: `${index}` })),
        ],
      }),
    );
    const [, said, results] = vendor.sent[0]?.body.messages ?? [];
    const ids: string[] = said.content.map((block: { id: string }) => block.id);
    expect(new Set(ids).size).toBe(2 * count);
    expect(results.content.map((block: { tool_use_id: string }) => block.tool_use_id)).toEqual(
      ids.slice(0, count),
    );
    expect(results.content.at(-1).content).toBe(`${count - 1}`);
  });

  it("may have thousands of messages between calls and their results, which follow the calls", async () => {
    vendor.answers(200, { content: [{ type: "text", text: "ok" }], stop_reason: "end_turn", usage: {} });
    const count = 4_900;
    await whole(
      chat(anthropic, "claude-x", {
        messages: [
          ...times(count, (index) => ({
            role: "assistant",
            content: null,
            tool_calls: [called(`c${index}`)],
          })),
          ...times(count, (index) => ({ role: "tool", tool_call_id: `c${index}`, content: "seen" })),
        ],
      }),
    );
    const sent: { role: string; content: { id?: string; tool_use_id?: string }[] }[] =
      vendor.sent[0]?.body.messages ?? [];
    expect(sent.map(({ content: [block] }) => block?.id ?? block?.tool_use_id)).toEqual(
      times(count, (index) => [`c${index}`, `c${index}`]).flat(),
    );
  });

  it("may have as many parts in a message as a body may have", async () => {
    vendor.answers(200, {
      choices: [{ message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    });
    const content = times(99_000, () => ({ text: "a" }));
    const input = [
      { role: "assistant", content },
      { role: "user", content: "hi" },
    ];
    await whole(respond(openai, "m", { input }));
    expect(vendor.sent[0]?.body.messages[0].content).toHaveLength(2 * content.length - 1);
  });
});

const google = upstreamOf("google", { baseUrl });
const costly = [
  { what: "names", input: `{${times(110_000, (index) => `"n${index}":1`).join(",")}}` },
  { what: "objects", input: `{"x":[${times(210_000, () => "{}").join(",")}]}` },
  { what: "strings", input: `{"x":[${times(410_000, (index) => `"s${index}"`).join(",")}]}` },
  { what: "levels", input: `{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}` },
];

describe.each([
  { of: "Anthropic", upstream: anthropic },
  { of: "Google", upstream: google },
])("the inputs of calls that are written for $of", ({ upstream }) => {
  const asked = (...inputs: readonly string[]) =>
    chat(upstream, "claude-x", {
      messages: [
        USER,
        {
          role: "assistant",
          content: null,
          tool_calls: inputs.map((input, index) => called(`c${index}`, input)),
        },
        ...inputs.map((_, index) => ({ role: "tool", tool_call_id: `c${index}`, content: "seen" })),
      ],
    });

  const refusedAt = (call: number) => ({
    code: "invalid_request",
    param: `messages.1.tool_calls.${call}.function.arguments`,
  });

  it.each(costly)("are refused if they hold more $what than a body may", async ({ input }) => {
    await expect(whole(asked(input))).rejects.toMatchObject(refusedAt(0));
    expect(vendor.sent).toEqual([]);
  });

  it("are counted together", async () => {
    const input = `{${times(60_000, (index) => `"n${index}":1`).join(",")}}`;
    await expect(whole(asked(input, input))).rejects.toMatchObject(refusedAt(1));
    expect(vendor.sent).toEqual([]);
  });
});

describe("an answer of an upstream", () => {
  const numbered = (of: (index: number) => string) => times(1_100_000, of).join(",");
  const expensive = [
    { what: "objects", members: `"x":[${numbered(() => "{}")}]` },
    { what: "names", members: `"x":{${numbered((index) => `"n${index}":1`)}}` },
    { what: "strings", members: `"x":[${numbered((index) => `"a${index}","b${index}"`)}]` },
    { what: "numerals", members: `"x":[${times(4_001, (index) => `"${(index + 1) * 65_536}"`).join(",")}]` },
  ];

  it.each(expensive)(
    "is malformed if it holds so many $what that it would take seconds to parse",
    async ({ members }) => {
      const malformed = { failure: { code: "upstream_error" } };
      const answer = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],${members}}`;
      vendor.answersBy(
        (body) =>
          new Response(body.stream ? `data: ${answer}\n\ndata: [DONE]\n\n` : answer, {
            headers: { "content-type": body.stream ? "text/event-stream" : "application/json" },
          }),
      );
      await expect(whole(chat(openai, "m", ASKED))).rejects.toMatchObject(malformed);
      await expect(whole(messages(openai, "m", ASKED))).rejects.toMatchObject(malformed);
      await expect(streamText(chat(openai, "m", STREAMED))).rejects.toMatchObject(malformed);
      await expect(streamText(messages(openai, "m", STREAMED))).rejects.toMatchObject(malformed);
    },
  );

  /** Streams the first event, and then the other one without end. */
  const streamsWithoutEnd = (first: string, other: string) =>
    vendor.answersBy(() => {
      const events = new TextEncoder().encode(other);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(first)),
        pull: (controller) => controller.enqueue(events),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });

  it("fails if its stream does not end, and what is kept of it would fill the memory", async () => {
    const malformed = { failure: { code: "upstream_error" } };
    const megabyte = "x".repeat(1_000_000);
    streamsWithoutEnd(chunk({ content: "so" }), chunk({ content: megabyte }));
    await expect(readToEnd(messages(openai, "m", STREAMED))).rejects.toMatchObject(malformed);
    const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
    const item = { type: "message", content: [{ type: "output_text", text: megabyte }] };
    streamsWithoutEnd(
      event({ type: "response.created", response: { id: "r", output: [] } }),
      event({ type: "response.output_item.done", item }),
    );
    await expect(readToEnd(respond(responses, "m", { input: "hi", stream: true }))).rejects.toMatchObject(
      malformed,
    );
  });

  it.each([": x\n\n", "data:\n\n", "event: ping\n\n"])(
    "fails if its stream does not end, and has nothing but %j",
    async (nothing) => {
      const malformed = { failure: { code: "upstream_error" } };
      for (const first of ["", chunk({ content: "so" })]) {
        streamsWithoutEnd(first, nothing.repeat(100_000));
        await expect(readToEnd(chat(openai, "m", STREAMED))).rejects.toMatchObject(malformed);
        await expect(readToEnd(messages(openai, "m", STREAMED))).rejects.toMatchObject(malformed);
      }
    },
  );

  const sse = (events: readonly object[]) =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const MANY = 10_001;
  const many: readonly { of: string; answer: () => Promise<WireAnswer>; events: () => string }[] = [
    {
      of: "calls",
      answer: () => messages(openai, "m", STREAMED),
      events: () => chunk({ tool_calls: times(MANY, (index) => ({ index, ...called(`c${index}`) })) }),
    },
    {
      of: "thoughts and texts by turns",
      answer: () => respond(openai, "m", { input: "hi", stream: true }),
      events: () => (chunk({ reasoning_content: "so" }) + chunk({ content: "ok" })).repeat(MANY / 2 + 1),
    },
    {
      of: "images",
      answer: () => messages(openai, "m", STREAMED),
      events: () =>
        chunk({ images: times(MANY, () => ({ image_url: { url: "data:image/png;base64,AA==" } })) }),
    },
    {
      of: "details of thoughts",
      answer: () => messages(openai, "m", STREAMED),
      events: () => chunk({ reasoning_details: times(250_001, () => ({})) }).repeat(2),
    },
    {
      of: "blocks of Anthropic",
      answer: () => chat(anthropic, "claude-x", STREAMED),
      events: () =>
        sse(times(MANY, (index) => ({ type: "content_block_start", index, content_block: { type: "x" } }))),
    },
    {
      of: "calls of Google",
      answer: () => chat(google, "gemini-x", STREAMED),
      events: () =>
        sse([
          { candidates: [{ content: { parts: times(MANY, () => ({ functionCall: { name: "look" } })) } }] },
        ]),
    },
    {
      of: "items of a response",
      answer: () => chat(responses, "m", STREAMED),
      events: () =>
        sse(
          times(MANY, (index) => ({
            type: "response.output_item.added",
            output_index: index,
            item: { type: "function_call", call_id: `c${index}`, name: "look" },
          })),
        ),
    },
  ];

  it.each(many)("fails if it has more $of than any model's", async ({ answer, events }) => {
    const begun = sse([{ type: "message_start", message: {} }]);
    vendor.streams(`${begun}${events()}`);
    await expect(readToEnd(answer())).rejects.toMatchObject({ failure: { code: "upstream_error" } });
  });

  it("may have thousands of calls with the same id, whole and streamed", async () => {
    const calls = times(4_000, (index) => ({ index, ...called("a") }));
    const message = { role: "assistant", content: null, tool_calls: calls };
    vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
    const { content } = await whole(messages(openai, "m", ASKED));
    expect(new Set(content.map(({ id }: { id: string }) => id)).size).toBe(calls.length);
    vendor.streams(chunk({ tool_calls: calls }) + END);
    const events = await streamText(messages(openai, "m", STREAMED));
    const ids = [...events.matchAll(/"type":"tool_use","id":"([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(calls.length);
  });

  it.each(costly)(
    "is malformed if the input of a call holds too many $what to be parsed",
    async ({ input }) => {
      const malformed = { failure: { code: "upstream_error" } };
      const message = { role: "assistant", content: null, tool_calls: [called("a", input)] };
      vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
      await expect(whole(messages(openai, "m", ASKED))).rejects.toMatchObject(malformed);
      // In a stream, what has come is passed on. The next call does not begin before the stream ends.
      vendor.streams(
        chunk({ tool_calls: [{ index: 0, ...called("a", input) }] }) +
          chunk({ tool_calls: [{ index: 1, ...called("b") }] }) +
          END,
      );
      const events = await streamText(messages(openai, "m", STREAMED));
      expect(events.split("event: content_block_stop\n")).toHaveLength(3);
    },
  );

  const ofResponse = (tool: object, more: object = {}) =>
    respond(openai, "m", { input: "hi", tools: [{ name: "look", ...tool }], ...more });
  const FUNCTION = { type: "function", parameters: {} };

  it.each(costly)(
    "is not parsed for a response if a call's input holds too many $what",
    async ({ input }) => {
      vendor.streams(
        chunk({ tool_calls: [{ index: 0, ...called("a", input) }] }) +
          chunk({ tool_calls: [{ index: 1, ...called("b") }] }) +
          END,
      );
      const events = await streamText(ofResponse(FUNCTION, { stream: true }));
      const order = events
        .match(/^event: response.output_item.\w+$/gm)
        ?.map((line) => line.split(".").at(-1));
      expect(order).toEqual(["added", "added", "done", "done"]);
      // An input that could be cut off is not completed to find out.
      const message = { role: "assistant", content: null, tool_calls: [called("a", input.slice(0, -1))] };
      vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: USAGE });
      const { status, output } = await whole(ofResponse(FUNCTION));
      expect([status, output[0].status, output[0].arguments]).toEqual([
        "completed",
        "completed",
        input.slice(0, -1),
      ]);
    },
  );

  it("is not parsed for a custom tool if the inputs of its calls together hold too many names", async () => {
    const input = `{${'"text":"ls",'.repeat(60_000)}"text":"ls"}`;
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [called("a", input), called("b", input)],
    };
    vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: USAGE });
    const written = async (tool: object, member: string) =>
      (await whole(ofResponse(tool))).output.map((item: Record<string, unknown>) => item[member]);
    expect(await written({ type: "custom" }, "input")).toEqual(["ls", input]);
    const chosen = { ...ASKED, tools: [{ type: "custom", custom: { name: "look" } }] };
    vendor.streams(
      [
        { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
        ...[0, 1].flatMap((index) => [
          {
            type: "content_block_start",
            index,
            content_block: { type: "tool_use", id: `c${index}`, name: "look" },
          },
          { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: input } },
          { type: "content_block_stop", index },
        ]),
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
        { type: "message_stop" },
      ]
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(""),
    );
    const chunks = await streamText(chat(anthropic, "claude-x", { ...chosen, stream: true }));
    const inputs = [...chunks.matchAll(/"custom":\{"input":("(?:[^"\\]|\\.)*")/g)].map(([, json]) =>
      JSON.parse(json ?? ""),
    );
    expect(inputs).toEqual(["ls", input]);
  });

  it("may have an incomplete call of megabytes before thousands of others", async () => {
    const numbers = `[${"1,".repeat(4_000_000)}`;
    const others = times(4_000, (index) => ({ index: index + 1, ...called(`c${index}`) }));
    const open = { index: 0, ...called("open", numbers) };
    vendor.streams(
      chunk({ tool_calls: [open] }) + others.map((one) => chunk({ tool_calls: [one] })).join("") + END,
    );
    const events = await streamText(messages(openai, "m", STREAMED));
    expect(events.split("event: content_block_stop\n")).toHaveLength(2 + others.length);
  });

  it("may have thousands of pieces of a call that wait for another call to end, and are sent as one", async () => {
    const piece = (index: number, text: string) =>
      chunk({ tool_calls: [{ index, function: { arguments: text } }] });
    const both = [0, 1].map((index) => ({ index, ...called(`c${index}`, '{"x":"') }));
    vendor.streams(
      chunk({ tool_calls: both }) + piece(1, "y").repeat(5_000) + piece(1, '"}') + piece(0, '"}') + END,
    );
    const events = await streamText(messages(openai, "m", STREAMED));
    const inputs = [...events.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)].map(([, json = ""]) =>
      JSON.parse(json),
    );
    expect(inputs).toEqual(['{"x":"', '"}', `{"x":"${"y".repeat(5_000)}"}`]);
  });

  it("may have thousands of pieces of a thought with thousands of members", async () => {
    const members = Object.fromEntries(times(16_000, (index) => [`m${index}`, index]));
    const piece = (more: object) =>
      chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "so ", ...more }] });
    vendor.streams(piece(members) + piece({}).repeat(4_000) + chunk({ content: "ok" }) + chunk({}, "stop"));
    expect(await streamText(messages(openai, "m", STREAMED))).toContain('"text":"ok"');
  });

  it("may have more details of thoughts than a function takes arguments", async () => {
    const details = times(300_000, () => ({ type: "reasoning.text" }));
    const message = { role: "assistant", content: "ok", reasoning_details: details };
    vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "stop" }] });
    expect((await whole(messages(openai, "m", ASKED))).content).toMatchObject([{ type: "text", text: "ok" }]);
  });
});
