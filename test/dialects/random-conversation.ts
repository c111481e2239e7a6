import fc from "fast-check";
import type { Signature, Turn } from "../../server/src/conversation/conversation.ts";

// Parts of random conversations.

export const at = "somewhere";
export const word = fc.constantFrom("a", "two words", "ä\n", " space ");
export const cache = fc.constantFrom(null, null, null, null, "5m" as const, "1h" as const);
export const pdf = { kind: "data", mediaType: "application/pdf", data: "JVBERi0=" } as const;
export const image = fc.record({
  kind: fc.constant("image" as const),
  source: fc.constantFrom(
    { kind: "data", mediaType: "image/png", data: "iVBORw0KGgo=" } as const,
    { kind: "url", url: "https://example.com/a.png" } as const,
    pdf,
  ),
  detail: fc.constant(null),
  cache,
  at: fc.constant(at),
});
export const file = (filename: fc.Arbitrary<string | null>) =>
  fc.record({
    kind: fc.constant("file" as const),
    source: fc.constantFrom(
      pdf,
      { kind: "url", url: "https://example.com/a.pdf" } as const,
      { kind: "data", mediaType: "text/plain", data: "w6Q=" } as const,
    ),
    filename,
    filenameAt: fc.constant("somewhere"),
    cache,
    at: fc.constant(at),
  });
export const text = fc.record({ kind: fc.constant("text" as const), text: word, cache, at: fc.constant(at) });
export const thought = (signature: fc.Arbitrary<Signature | null>) =>
  fc.record({
    kind: fc.constant("reasoning" as const),
    text: word,
    signature,
    cache,
    at: fc.constant(at),
  });
/** Calls of one turn that have the same id have the same name: the AI SDK can't tell them apart otherwise. */
const called = fc.constantFrom({ id: "call_1", name: "weather" }, { id: "call_2", name: "time" });
export const call = (signature: fc.Arbitrary<Signature | null>) =>
  fc
    .record({
      kind: fc.constant("call" as const),
      called,
      input: fc.constantFrom("", "{}", '{"city":"Rome"}'),
      signature,
      cache,
      at: fc.constant(at),
    })
    .map(({ called: { id, name }, ...others }) => ({ ...others, id, name }));
/** One to three values. */
export const list = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 });

/** Results need a call, so that both are asked for before anything else. */
export const CALLS: readonly Turn[] = [
  {
    role: "assistant",
    parts: ["call_1", "call_2"].map((id) => ({
      kind: "call",
      id,
      name: "weather",
      input: "{}",
      signature: null,
      cache: null,
      at,
    })),
  },
];

const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      { type: "string", minLength: 2, pattern: "^a", description: "d" },
      { type: "string", format: "email" },
      { type: "string", format: "color" },
      { enum: ["a", null] },
      { const: 1, default: null },
      { type: "object" },
      { type: "object", additionalProperties: true },
      { $ref: "#/definitions/a" },
      { $ref: "#" },
      { $ref: "#/properties/a" },
    ),
    fc.record(
      {
        type: fc.constantFrom("object", ["object", "null"]),
        properties: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "items"), tie("schema")),
        required: fc.constantFrom(["a"], []),
        additionalProperties: fc.constant(false),
        definitions: fc.dictionary(fc.constant("a"), tie("schema")),
        $defs: fc.dictionary(fc.constant("b"), tie("schema")),
        title: fc.constant("t"),
      },
      { requiredKeys: ["properties"] },
    ),
    fc.record(
      {
        type: fc.constant("array"),
        items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 2 })),
        maxItems: fc.constant(3),
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: ["items"] },
    ),
    fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 2 }) }),
    fc.record({ oneOf: fc.array(tie("schema"), { maxLength: 2 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { maxLength: 2 }), not: fc.constant({ type: "null" }) }),
  ) as fc.Arbitrary<Record<string, unknown>>,
}));
export const jsonSchema = schema.map((value) => JSON.parse(JSON.stringify(value)));

export const tools = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("weather", "time", "search"),
    description: fc.constantFrom(null, "Does it."),
    parameters: fc.constantFrom(null, { type: "object", properties: { city: { type: "string" } } }),
    strict: fc.constantFrom(null, true, false),
    cache,
  }),
  { selector: ({ name }) => name, maxLength: 3 },
);
