import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { expectResponseStream, expectWhole } from "./response-stream.ts";
import {
  answersMessage,
  chunk,
  sentTo,
  startResponsesService,
  streamsChunks,
  USAGE,
} from "./responses-service.ts";

const running = sharedByFile(startResponsesService);

const user = (content: unknown) => ({ role: "user", content });
const functionTool = (name: string) => ({ type: "function", name, parameters: { type: "object" } });
const callOf = (index: number, id: string | null, name: string | null, input: string) => ({
  tool_calls: [
    {
      index,
      ...(id === null ? {} : { id, type: "function" }),
      function: { ...(name === null ? {} : { name }), arguments: input },
    },
  ],
});

describe("a response of an upstream with chat completions", () => {
  it("is whole, with all members, and the model's public name", async () => {
    running.answers.chat = answersMessage({ content: "from afar" });
    const response = await running.ask({ input: "hello", instructions: "be brief", metadata: { a: "b" } });
    expectWhole(response);
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      status: "completed",
      model: "acme/chat",
      instructions: "be brief",
      metadata: { a: "b" },
      store: true,
      output: [
        {
          id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "from afar", annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 30,
        input_tokens_details: { cached_tokens: 10 },
        output_tokens: 12,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 42,
      },
    });
    expect(sentTo(running.chat).messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "hello" },
    ]);
  });

  it("streams text in the order of the reference", async () => {
    running.answers.chat = streamsChunks([
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "one " }),
      chunk({ content: "two" }),
      chunk({}, "stop", USAGE),
    ]);
    const events = await running.stream({ input: "hello" });
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const response = expectResponseStream(events);
    expect(response.output[0].content[0].text).toBe("one two");
    expect(response.usage.total_tokens).toBe(42);
  });

  it("counts the tokens that the upstream does not tell", async () => {
    running.answers.chat = streamsChunks([chunk({ content: "one two three" }), chunk({}, "stop")]);
    const response = expectResponseStream(await running.stream({ input: "hello there" }));
    expect(response.usage.output_tokens).toBeGreaterThan(0);
    expect(response.usage.input_tokens).toBeGreaterThan(0);
  });

  it("is incomplete when the maximum of tokens is reached, or a filter ends it", async () => {
    for (const [finish, reason] of [
      ["length", "max_output_tokens"],
      ["content_filter", "content_filter"],
    ] as const) {
      running.answers.chat = streamsChunks([chunk({ content: "cut" }), chunk({}, finish, USAGE)]);
      const events = await running.stream({ input: "hello", max_output_tokens: 16 });
      const response = expectResponseStream(events);
      expect(events.at(-1)?.type).toBe("response.incomplete");
      expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason } });
      expect(response.output[0].status).toBe("incomplete");
      expect(sentTo(running.chat).max_tokens).toBe(16);
    }
  });

  it("streams a refusal as its own part", async () => {
    running.answers.chat = streamsChunks([chunk({ refusal: "I can't" }), chunk({}, "stop", USAGE)]);
    const response = expectResponseStream(await running.stream({ input: "hello" }));
    expect(response.output[0].content).toEqual([{ type: "refusal", refusal: "I can't" }]);
  });

  it("streams parallel calls whose pieces come by turns, each at its own index", async () => {
    running.answers.chat = streamsChunks([
      chunk({ content: "let me see" }),
      chunk(callOf(0, "call_a", "first", "")),
      chunk(callOf(1, "call_b", "second", "")),
      chunk(callOf(0, null, null, '{"x":')),
      chunk(callOf(1, null, null, '{"y":')),
      chunk(callOf(0, null, null, "1}")),
      chunk(callOf(1, null, null, "2}")),
      chunk({}, "tool_calls", USAGE),
    ]);
    const events = await running.stream({
      input: "hello",
      tools: [functionTool("first"), functionTool("second")],
      parallel_tool_calls: true,
    });
    const response = expectResponseStream(events);
    expect(response.output).toMatchObject([
      { type: "message" },
      { type: "function_call", call_id: "call_a", name: "first", arguments: '{"x":1}', status: "completed" },
      { type: "function_call", call_id: "call_b", name: "second", arguments: '{"y":2}', status: "completed" },
    ]);
    const ids = response.output.map(({ id }: { id: string }) => id);
    expect(ids).not.toContain("call_a");
    expect(sentTo(running.chat)).toMatchObject({ parallel_tool_calls: true });
  });

  it("ends a call that is whole before the next one begins, as clients expect that keep one call at a time", async () => {
    running.answers.chat = streamsChunks([
      chunk(callOf(0, "call_a", "first", "")),
      chunk(callOf(0, null, null, '{"x":')),
      chunk(callOf(0, null, null, "1}")),
      chunk(callOf(1, "call_b", "patch", '{"input":"y"}')),
      chunk(callOf(2, "call_c", "first", '{"x":3}')),
      chunk(callOf(0, null, null, " ")),
      chunk({ content: "Wait." }),
      chunk({}, "tool_calls", USAGE),
    ]);
    const tools = [functionTool("first"), { type: "custom", name: "patch" }];
    const events = await running.stream({ input: "hello", tools });
    expect(expectResponseStream(events).output).toMatchObject([
      { type: "function_call", arguments: '{"x":1}', status: "completed" },
      { type: "custom_tool_call", input: "y", status: "completed" },
      { type: "function_call", arguments: '{"x":3}', status: "completed" },
      { type: "message", status: "completed" },
    ]);
    const bounds = events.filter(({ type }) => /output_item\.(?:added|done)$/.test(type));
    expect(bounds.map(({ output_index: index }) => index)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });

  it("gives each call its own id and index where the upstream gives all the same", async () => {
    running.answers.chat = streamsChunks([
      chunk(callOf(0, "call_0", "first", '{"x":1}')),
      chunk({
        tool_calls: [
          { index: 0, id: "call_1", type: "function", function: { name: "second", arguments: "{}" } },
        ],
      }),
      chunk({
        tool_calls: [{ id: "call_0", type: "function", function: { name: "first", arguments: "{}" } }],
      }),
      chunk({}, "tool_calls", USAGE),
    ]);
    const response = expectResponseStream(
      await running.stream({ input: "hello", tools: [functionTool("first"), functionTool("second")] }),
    );
    expect(response.output).toHaveLength(3);
    expect(new Set(response.output.map((item: { call_id: string }) => item.call_id)).size).toBe(3);
  });

  it("streams a thought as a summary before the text", async () => {
    running.answers.chat = streamsChunks([
      chunk({ reasoning_content: "hmm, " }),
      chunk({ reasoning_content: "yes" }),
      chunk({ content: "done" }),
      chunk({}, "stop", USAGE),
    ]);
    const events = await running.stream({ input: "hello", reasoning: { effort: "low", summary: "auto" } });
    const response = expectResponseStream(events);
    expect(response.output).toMatchObject([
      { type: "reasoning", summary: [{ type: "summary_text", text: "hmm, yes" }] },
      { type: "message" },
    ]);
    expect(sentTo(running.chat).reasoning_effort).toBe("low");
  });

  it("is asked for without reasoning where the model refuses it", async () => {
    running.answers.chat = (request) => {
      if (request.body.reasoning_effort === undefined) return answersMessage({ content: "ok" })(request);
      const error = { message: "Unrecognized request argument: reasoning_effort" };
      const { response } = request;
      return void response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error }));
    };
    const answer = await running.post({ input: "hello", reasoning: { effort: "low" } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ostiary-ignored-fields")).toBe("reasoning");
  });

  it("has structured output by a flat schema, re-nested for the upstream", async () => {
    running.answers.chat = answersMessage({ content: '{"x":1}' });
    const schema = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] };
    const format = { type: "json_schema", name: "point", schema, strict: true };
    const response = await running.ask({ input: "hello", text: { format, verbosity: "low" } });
    expect(response.text).toEqual({ format, verbosity: "low" });
    expect(sentTo(running.chat)).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "point", schema, strict: true } },
      verbosity: "low",
    });
  });

  it("takes images and files by data or URL", async () => {
    running.answers.chat = answersMessage({ content: "seen" });
    const image = "data:image/png;base64,AAAA";
    const pdf = "data:application/pdf;base64,BBBB";
    await running.ask({
      input: [
        user([
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: image, detail: "auto" },
          { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
          { type: "input_file", file_data: pdf, filename: "a.pdf" },
          { type: "input_file", file_data: "data:text/csv;base64,YSxi", filename: "a.csv" },
        ]),
      ],
    });
    expect(sentTo(running.chat).messages[0].content).toEqual([
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: image } },
      { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
      { type: "file", file: { file_data: pdf, filename: "a.pdf" } },
      // OpenAI's Chat Completions take no other files than PDFs.
      { type: "text", text: "a.csv\na,b" },
    ]);
  });

  it("makes one message of the calls that follow each other, and one of each result", async () => {
    running.answers.chat = answersMessage({ content: "both" });
    await running.ask({
      instructions: "first",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "second" }] },
        user("go"),
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "somebody else's" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "calling" }] },
        { type: "function_call", call_id: "a", name: "first", arguments: "{}" },
        { type: "function_call", call_id: "b", name: "second", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "1" },
        { type: "function_call_output", call_id: "b", output: [{ type: "input_text", text: "2" }] },
        { type: "message", role: "system", content: "third" },
      ],
    });
    const call = (id: string, name: string) => ({
      id,
      type: "function",
      function: { name, arguments: "{}" },
    });
    expect(sentTo(running.chat).messages).toEqual([
      { role: "system", content: "first" },
      { role: "system", content: "second" },
      { role: "user", content: "go" },
      { role: "assistant", content: "calling", tool_calls: [call("a", "first"), call("b", "second")] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "system", content: "third" },
    ]);
  });

  it("says as the user what one agent of Codex says to another, and refuses to begin a summary that it can't encrypt", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    const said = { type: "agent_message", id: "am_1", author: "reviewer", recipient: "root" };
    const encrypted = { type: "encrypted_content", encrypted_content: "x" };
    const answer = await running.post({
      input: [
        user("go"),
        { ...said, content: [{ type: "input_text", text: "Looks good." }, encrypted] },
        { ...said, content: "Merge it." },
        { ...said, content: [encrypted] },
      ],
    });
    expect(answer.headers.get("ostiary-ignored-fields")).toBe("input.1.content.1, input.3.content.0");
    const from = { type: "text", text: "Message from reviewer to root:" };
    expect(sentTo(running.chat).messages.slice(1)).toEqual([
      { role: "user", content: [from, { type: "text", text: "Looks good." }] },
      { role: "user", content: [from, { type: "text", text: "Merge it." }] },
    ]);
    const refused = await running.post({ input: [user("go"), { type: "compaction_trigger" }] });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: "input.1" } });
  });

  it("leaves out what only its provider could do, and names it in a header", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    const answer = await running.post({
      input: [user("go"), { type: "web_search_call", id: "ws_1", status: "completed" }, { type: "novelty" }],
      tools: [functionTool("first"), { type: "web_search" }, { type: "image_generation" }],
      include: ["file_search_call.results"],
      truncation: "auto",
      moderation: {},
      service_tier: "flex",
      client_metadata: { a: "b" },
      stream_options: { include_obfuscation: false },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ostiary-ignored-fields")?.split(", ").sort()).toEqual(
      [
        "include",
        "input.1",
        "input.2",
        "moderation",
        "service_tier",
        "tools.1",
        "tools.2",
        "truncation",
      ].sort(),
    );
    expect(sentTo(running.chat).tools).toHaveLength(1);
  });

  it("offers only the tools that are allowed", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    const tools = [functionTool("first"), functionTool("second")];
    const allowed = (mode: string) => ({
      type: "allowed_tools",
      mode,
      tools: [{ type: "function", name: "second" }],
    });
    await running.ask({ input: "go", tools, tool_choice: allowed("required") });
    expect(sentTo(running.chat)).toMatchObject({
      tools: [{ function: { name: "second" } }],
      tool_choice: "required",
    });
    await running.ask({ input: "go", tools, tool_choice: { type: "function", name: "first" } });
    expect(sentTo(running.chat).tool_choice).toEqual({ type: "function", function: { name: "first" } });
  });
});

describe("an upstream with chat completions that breaks off", () => {
  it("ends a stream that has begun with response.failed", async () => {
    for (const end of ["cut", "eof"] as const) {
      running.answers.chat = streamsChunks([chunk({ content: "half" })], end);
      const events = await running.stream({ input: "hello" });
      const response = expectResponseStream(events);
      expect(events.at(-1)?.type).toBe("response.failed");
      expect(response).toMatchObject({ status: "failed", error: { code: "server_error" } });
      expect(response.error.message).toContain("broke off");
    }
  });

  it("ends it so when the upstream reports an error in its stream", async () => {
    running.answers.chat = streamsChunks([
      chunk({ content: "half" }),
      { error: { message: "out of memory" } },
    ]);
    const events = await running.stream({ input: "hello" });
    expect(expectResponseStream(events)).toMatchObject({ status: "failed", error: { code: "server_error" } });
  });

  it("has OpenAI's error envelope before the first byte", async () => {
    running.answers.chat = ({ response }) =>
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "too long", code: "context_length_exceeded" } }));
    const answer = await running.post({ input: "hello", stream: true });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: "context_length_exceeded", type: "invalid_request_error" },
    });
  });
});
