import { describe, expect, it } from "vitest";
import { chat, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";

const vendor = replayVendor(/\/messages$/);
const upstream = upstreamOf("anthropic");
const MODEL = "claude-sonnet-4-5";
const HI = [{ role: "user", content: "hi" }];
const text = { type: "string" };
const answer = (...content: object[]) => ({
  id: "msg_01",
  type: "message",
  role: "assistant",
  content,
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** What a tool's schema is for Anthropic, which has the schema from a client of Chat Completions and of the Responses API. */
async function sentSchema(parameters: object): Promise<unknown> {
  vendor.answers(200, answer({ type: "text", text: "Fine." }));
  const tool = { name: "f", parameters };
  await chat(upstream, MODEL, { messages: HI, tools: [{ type: "function", function: tool }] });
  await respond(upstream, MODEL, { input: "hi", tools: [{ type: "function", ...tool }] });
  const [first, second] = vendor.sent.slice(-2).map(({ body }) => body.tools[0].input_schema);
  expect(first).toEqual(second);
  return first;
}

describe("a tool whose input has alternatives, which Anthropic takes only within an object", () => {
  it("has the properties of all of them, and requires what all of them require", async () => {
    const file = {
      type: "object",
      properties: { kind: { const: "file" }, path: text },
      required: ["kind", "path"],
    };
    const page = {
      type: "object",
      properties: { kind: { const: "page" }, url: text },
      required: ["kind", "url"],
    };
    for (const keyword of ["anyOf", "oneOf"]) {
      expect(await sentSchema({ description: "A source.", [keyword]: [file, page] })).toEqual({
        type: "object",
        description: "A source.\nGive the properties of one of these: kind, path; or kind, url.",
        properties: { kind: { anyOf: [{ const: "file" }, { const: "page" }] }, path: text, url: text },
        required: ["kind"],
      });
    }
  });

  it("keeps its own properties beside alternatives that only require some of them", async () => {
    const properties = { id: text, name: text };
    const anyOf = [{ required: ["id"] }, { required: ["name"] }];
    expect(await sentSchema({ type: "object", properties, anyOf, additionalProperties: false })).toEqual({
      type: "object",
      properties,
      additionalProperties: false,
      description: "Give the properties of one of these: id; or name.",
    });
  });

  it("has all that several schemas together require", async () => {
    const allOf = [
      { $ref: "#/$defs/Base" },
      { properties: { b: text }, required: ["b"], additionalProperties: false },
    ];
    const $defs = { Base: { properties: { a: text }, required: ["a"], additionalProperties: false } };
    expect(await sentSchema({ allOf, $defs })).toEqual({
      type: "object",
      properties: { a: text, b: text },
      required: ["a", "b"],
      additionalProperties: false,
      $defs,
    });
  });

  it.each([
    ["that have alternatives themselves", { Deep: { anyOf: [{ properties: { a: text } }] } }, { a: text }],
    [
      "that contain themselves",
      { Deep: { properties: { a: text }, oneOf: [{ $ref: "#/$defs/Deep" }] } },
      { a: text },
    ],
    ["that refer to nothing", {}, {}],
  ])("may have alternatives %s", async (_, $defs, properties) => {
    const schema = await sentSchema({ anyOf: [{ $ref: "#/$defs/Deep" }, null, true], $defs });
    expect(schema).toEqual({ type: "object", properties, $defs });
  });

  it("is an object where it may also be nothing", async () => {
    expect(await sentSchema({ type: ["object", "null"], properties: { a: text } })).toEqual({
      type: "object",
      properties: { a: text },
    });
  });

  it("takes no time for many references to large definitions", async () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `p${index}`);
    const Large = { properties: { a: text }, required: names };
    const anyOf = names.map(() => ({ $ref: "#/$defs/Large" }));
    expect(await sentSchema({ anyOf, $defs: { Large } })).toMatchObject({ properties: { a: text } });
  });
});

describe("an answer in a format with alternatives", () => {
  it("is asked for as an object of a model without structured outputs", async () => {
    vendor.answers(200, answer({ type: "tool_use", id: "t", name: "json", input: { a: "x" } }));
    const schema = { anyOf: [{ type: "object", properties: { a: text }, required: ["a"] }] };
    const format = { type: "json_schema", json_schema: { name: "s", schema } };
    const asked = { messages: HI, response_format: format };
    const { choices } = await whole(chat(upstream, "claude-3-haiku", asked));
    expect(choices[0].message.content).toBe('{"a":"x"}');
    expect(vendor.sent[0]?.body.tools[0].input_schema).toEqual({
      type: "object",
      properties: { a: text },
      required: ["a"],
    });
  });
});
