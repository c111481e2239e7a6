import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSandboxTransport } from "../../server/src/upstream/sandbox/sandbox-transport.ts";
import { TransportError } from "../../server/src/upstream/transport.ts";

const transport = createSandboxTransport({ now: () => new Date(0) });
const timeouts = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 60_000 };

function send(fields: object, signal = new AbortController().signal) {
  const body = { model: "echo", messages: [{ role: "user", content: "one two three" }], ...fields };
  return transport.send({
    method: "POST",
    url: "sandbox:/chat/completions",
    headers: [],
    body: new TextEncoder().encode(JSON.stringify(body)),
    signal,
    timeouts,
  });
}

async function text(fields: object): Promise<string> {
  let all = "";
  const decoder = new TextDecoder();
  for await (const chunk of (await send(fields)).body) all += decoder.decode(chunk, { stream: true });
  return all;
}

const whole = async (fields: object) => JSON.parse(await text(fields));

async function streamed(fields: object) {
  const events = (await text({ ...fields, stream: true })).trim().split("\n\n");
  expect(events.pop()).toBe("data: [DONE]");
  return events.map((event) => JSON.parse(event.slice("data: ".length)));
}

const user = (content: unknown) => [{ role: "user", content }];
const said = (content: unknown) => ({ messages: user(content) });

describe("a sandbox model", () => {
  it("gives the same answer to the same request", async () => {
    for (const fields of [{}, { model: "lorem" }, { model: "lorem", stream: true }]) {
      expect(await text(fields)).toBe(await text(fields));
    }
    const other = await whole({ model: "lorem", seed: 2 });
    expect((await whole({ model: "lorem", seed: 1 })).choices).not.toEqual(other.choices);
  });

  it("streams the text of its whole answer, and counts the same tokens", async () => {
    for (const fields of [{}, { model: "lorem", n: 3 }, { stop: "thr" }, { max_tokens: 2 }]) {
      const once = await whole(fields);
      const chunks = await streamed({ ...fields, stream_options: { include_usage: true } });
      for (const { index, message, finish_reason } of once.choices) {
        const own = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
        expect(own.map((choice) => choice.delta.content ?? "").join("")).toBe(message.content);
        expect(own.at(-1).finish_reason).toBe(finish_reason);
      }
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: once.usage });
    }
  });

  it("sends usage on a stream only on request", async () => {
    expect((await streamed({})).some((chunk) => "usage" in chunk)).toBe(false);
  });

  it("respects token limits and stop sequences", async () => {
    const limited = await whole({ model: "lorem", max_completion_tokens: 5 });
    expect(limited.choices[0].finish_reason).toBe("length");
    expect(limited.usage.completion_tokens).toBe(5);
    const stopped = await whole({ stop: ["wo th", "zzz"] });
    expect(stopped.choices[0]).toMatchObject({ message: { content: "one t" }, finish_reason: "stop" });
  });

  it("reads the parts of a message", async () => {
    const parts = [
      { type: "text", text: "look:" },
      { type: "image_url", image_url: { url: "data:," } },
    ];
    expect((await whole(said(parts))).choices[0].message.content).toBe("look: [image]");
  });

  it("counts a megabyte of anything in linear time", async () => {
    for (const piece of ["a", "字", " ", "a ", "<|endoftext|>"]) {
      const { usage } = await whole({ ...said(piece.repeat(1_000_000 / piece.length)), max_tokens: 1 });
      expect(usage.prompt_tokens).toBeGreaterThan(0);
    }
  });

  it("generates a stream as it is read, however long the requested length is", async () => {
    const { body } = await send({ model: "lorem", max_tokens: 100_000_000, stream: true });
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > 1_000_000) break;
    }
    expect(bytes).toBeGreaterThan(1_000_000);
  });
});

describe("the sandbox model that embeds", () => {
  const input = Array.from({ length: 2_048 }, (_, index) => `text ${index}`);
  const embed = (fields: object) =>
    transport.send({
      method: "POST",
      url: "sandbox:/embeddings",
      headers: [],
      body: new TextEncoder().encode(JSON.stringify({ model: "embedding", ...fields })),
      signal: new AbortController().signal,
      timeouts,
    });

  it("gives other requests their turn between its texts", async () => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    expect((await embed({ input })).status).toBe(200);
    isOver = true;
    expect(turns).toBeGreaterThan(30);
  });

  it("refuses more numbers than a process may be busy with", async () => {
    const { status, body } = await embed({ input, dimensions: 1_025 });
    expect(status).toBe(400);
    let answer = "";
    for await (const bytes of body) answer += new TextDecoder().decode(bytes);
    expect(JSON.parse(answer).error).toMatchObject({
      param: "dimensions",
      message: "dimensions: must be at most 1024 for 2048 texts",
    });
  });
});

describe("sandbox tools", () => {
  const tool = (name: string, parameters?: object) => ({ type: "function", function: { name, parameters } });
  const tools = [
    tool("get_weather", { type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    tool("get_time"),
  ];
  const calls = async (fields: object) =>
    (await whole({ tools, ...fields })).choices[0].message.tool_calls ?? [];
  const names = async (fields: object) =>
    (await calls(fields)).map((call: { function: { name: string } }) => call.function.name);

  it("are called when required, chosen, or named by the user, and otherwise not", async () => {
    expect(await names({ tool_choice: "required" })).toEqual(["get_weather"]);
    expect(await names({ tool_choice: { type: "function", function: { name: "get_time" } } })).toEqual([
      "get_time",
    ]);
    const named = said("use get_weather and get_time");
    expect(await names(named)).toEqual(["get_weather", "get_time"]);
    expect(await names({ ...named, parallel_tool_calls: false })).toEqual(["get_weather"]);
    expect(await names({ ...named, tool_choice: "none" })).toEqual([]);
    const allowing = (mode: string, ...allowed: object[]) => ({
      tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: allowed } },
    });
    expect(await names({ ...named, ...allowing("auto", tool("get_time")) })).toEqual(["get_time"]);
    expect(await names(allowing("required", tool("get_time")))).toEqual(["get_time"]);
    expect(await names(allowing("auto", tool("get_time")))).toEqual([]);
    expect((await send({ tools, ...allowing("auto", tool("other")) })).status).toBe(400);
    expect(await names({})).toEqual([]);
  });

  it("get arguments that their schema accepts", async () => {
    const [call] = await calls({ tool_choice: "required" });
    expect(JSON.parse(call.function.arguments)).toEqual({ city: "one two three" });
  });

  it.each(["string", "array", "nonsense"])("get an object, also by a schema of type %s", async (type) => {
    const [call] = await calls({ tools: [tool("odd", { type })], tool_choice: "required" });
    expect(JSON.parse(call.function.arguments)).toEqual({});
  });

  it("are streamed in pieces, with an index on each", async () => {
    const fields = { tools, ...said("get_weather get_time") };
    const deltas = (await streamed(fields)).flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
    const joined = [0, 1].map((index) => {
      const own = deltas.filter((delta) => delta.index === index);
      return {
        id: own[0].id,
        type: "function",
        function: {
          name: own[0].function.name,
          arguments: own.map((delta) => delta.function.arguments).join(""),
        },
      };
    });
    expect(joined).toEqual(await calls(fields));
  });

  it("have their results used in the answer", async () => {
    const messages = [...user("get_time"), { role: "tool", tool_call_id: "x", content: "12:30" }];
    const answer = await whole({ tools, messages });
    expect(answer.choices[0].message.content).toContain("12:30");
    expect(answer.choices[0].finish_reason).toBe("stop");
  });
});

describe("the sandbox's JSON by a schema", () => {
  const node = {
    type: "object",
    properties: { value: { type: "integer" }, next: { $ref: "#/$defs/node" } },
    required: ["value"],
  };
  const schemas: readonly (readonly [string, Record<string, unknown>])[] = [
    [
      "an object",
      { type: "object", properties: { a: { type: "string" }, b: { type: "boolean" } }, required: ["a", "b"] },
    ],
    ["an enum", { enum: ["red", "green"] }],
    ["a constant", { const: 7 }],
    [
      "numbers within bounds",
      {
        type: "object",
        properties: {
          a: { type: "integer", minimum: 10, maximum: 12 },
          b: { type: "number", exclusiveMinimum: 0, maximum: 1 },
          c: { type: "integer", maximum: -5 },
          d: { type: "integer", multipleOf: 7, minimum: 8 },
        },
        required: ["a", "b", "c", "d"],
      },
    ],
    [
      "strings of a length",
      {
        type: "object",
        properties: { a: { type: "string", minLength: 200 }, b: { type: "string", maxLength: 3 } },
        required: ["a", "b"],
      },
    ],
    [
      "formats",
      {
        type: "object",
        properties: {
          a: { type: "string", format: "email" },
          b: { type: "string", format: "uuid" },
          c: { type: "string", format: "date-time" },
        },
        required: ["a", "b", "c"],
      },
    ],
    ["arrays", { type: "array", items: { type: "integer" }, minItems: 3 }],
    ["a union", { anyOf: [{ type: "integer" }, { type: "null" }] }],
    ["a nullable", { type: ["string", "null"] }],
    [
      "an intersection",
      {
        allOf: [
          { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
          { type: "object", properties: { b: { type: "integer" } }, required: ["b"] },
        ],
      },
    ],
    ["a recursive schema", { $ref: "#/$defs/node", $defs: { node } }],
  ];

  it.each(schemas)("matches %s", async (_, schema) => {
    const answer = await whole({
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    const value = JSON.parse(answer.choices[0].message.content);
    const verdict = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
    expect(verdict.error?.issues, JSON.stringify(value)).toBeUndefined();
  });

  it("takes a format that it does not know, and required properties that are not described", async () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "string", format: "constructor" },
        b: { type: "string", format: "__proto__" },
      },
      required: ["a", "b", "constructor"],
    };
    const answer = await whole({
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    expect(JSON.parse(answer.choices[0].message.content)).toEqual({
      a: "one two three",
      b: "one two three",
      constructor: "one two three",
    });
    const root = { type: "string", format: "constructor" };
    const text = await whole({
      response_format: { type: "json_schema", json_schema: { name: "x", schema: root } },
    });
    expect(text.choices[0].message.content).toBe('"one two three"');
  });

  it.each([
    ["arrays of arrays", { type: "array", minItems: 1_000, items: { type: "array", minItems: 1_000 } }],
    ["long texts", { type: "array", minItems: 1_000, items: { type: "string", minLength: 100_000 } }],
    ["long constants", { type: "array", minItems: 1_000, items: { const: "x".repeat(10_000) } }],
    [
      "properties that contain themselves",
      {
        type: "object",
        properties: { a: { $ref: "#" }, b: { $ref: "#" }, c: { $ref: "#" } },
        required: ["a", "b", "c"],
      },
    ],
  ])("is bounded where a schema asks for %s", async (_, parameters) => {
    const tools = [{ type: "function", function: { name: "f", parameters } }];
    const { choices } = await whole({ tools, tool_choice: "required" });
    const input: string = choices[0].message.tool_calls[0].function.arguments;
    expect(JSON.parse(input)).toBeTypeOf("object");
    expect(input.length).toBeLessThan(2_000_000);
  });

  it("is an object when any object is allowed", async () => {
    const answer = await whole({ response_format: { type: "json_object" } });
    expect(JSON.parse(answer.choices[0].message.content)).toBeTypeOf("object");
  });
});

describe("a special request to the sandbox", () => {
  it.each([
    [{ logprobs: true }, 400, "logprobs"],
    [{ n: 0 }, 400, "n"],
    [{ max_tokens: -1 }, 400, "max_tokens"],
    [{ tool_choice: "required" }, 400, "tool_choice"],
    [{ model: "none" }, 400, "model"],
  ])("is refused with the field when it is not supported: %j", async (fields, status, param) => {
    const response = await send(fields);
    expect(response.status).toBe(status);
    expect(JSON.parse(await text(fields)).error.param).toBe(param);
  });

  it("is refused if a stop sequence is too long to be compared with each piece of a text", async () => {
    expect((await send({ stop: "x".repeat(1_000) })).status).toBe(200);
    expect(JSON.parse(await text({ stop: ["x".repeat(1_001)] })).error.param).toBe("stop");
  });

  it("simulates statuses, delays, cuts and missing usage", async () => {
    expect((await send(said("sandbox:error 429"))).status).toBe(429);
    expect((await whole(said("sandbox:no-usage"))).usage).toBeUndefined();
    await expect(send(said("sandbox:cut"))).rejects.toMatchObject({ fault: "cut" });
    await expect(text({ ...said("sandbox:cut"), stream: true })).rejects.toMatchObject({ fault: "cut" });
    await expect(send(said("sandbox:delay 20000"))).rejects.toMatchObject({ fault: "timeout" });
    await expect(send(said("sandbox:delay 500"), AbortSignal.timeout(5))).rejects.toBeInstanceOf(
      TransportError,
    );
  });
});

describe("the sandbox model that reasons", () => {
  const thinks = (fields: object = {}) => whole({ model: "reasoning", ...fields });

  it("thinks first, and repeats the message then", async () => {
    const { choices, usage } = await thinks();
    expect(choices[0].message.content).toBe("one two three");
    expect(choices[0].message.reasoning_content).toMatch(/^The user wrote: one two three/);
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(64);
    expect(usage.completion_tokens).toBeGreaterThan(64);
  });

  it("streams the same thoughts before the text", async () => {
    const once = await thinks();
    const chunks = await streamed({ model: "reasoning", stream_options: { include_usage: true } });
    const deltas = chunks.flatMap(({ choices }) =>
      choices.map(({ delta }: { delta: Record<string, unknown> }) => delta),
    );
    const of = (name: string) => deltas.map((delta: Record<string, unknown>) => delta[name] ?? "").join("");
    expect(of("reasoning_content")).toBe(once.choices[0].message.reasoning_content);
    expect(of("content")).toBe("one two three");
    const firstText = deltas.findIndex(({ content }) => typeof content === "string" && content !== "");
    expect(deltas.slice(firstText).some((delta) => "reasoning_content" in delta)).toBe(false);
    expect(chunks.at(-1)).toMatchObject({ usage: once.usage });
  });

  it("thinks as long as the effort says, within the limit of the answer", async () => {
    const tokens = async (fields: object) =>
      (await thinks(fields)).usage.completion_tokens_details.reasoning_tokens;
    expect(await tokens({ reasoning_effort: "none" })).toBe(0);
    expect(await tokens({ reasoning_effort: "low" })).toBeLessThan(
      await tokens({ reasoning_effort: "high" }),
    );
    const limited = await thinks({ max_completion_tokens: 10 });
    expect(limited.usage.completion_tokens).toBe(10);
    expect(limited.choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "length" });
    const refused = await thinks({ reasoning_effort: "much" });
    expect(refused.error).toMatchObject({ code: "invalid_request", param: "reasoning_effort" });
  });

  it("thinks before it calls a tool", async () => {
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
    const { choices } = await thinks({ tools, tool_choice: "required" });
    expect(choices[0]).toMatchObject({
      message: { reasoning_content: expect.any(String), tool_calls: [{ function: { name: "weather" } }] },
      finish_reason: "tool_calls",
    });
  });
});
