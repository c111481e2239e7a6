import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSandboxTransport } from "../../server/src/upstream/sandbox/sandbox-transport.ts";

const transport = createSandboxTransport({ now: () => new Date(0) });

/** What a sandbox model answers by a schema. */
async function answerBy(schema: object): Promise<unknown> {
  const { body } = await transport.send({
    method: "POST",
    url: "sandbox:/chat/completions",
    headers: [],
    body: new TextEncoder().encode(
      JSON.stringify({
        model: "echo",
        messages: [{ role: "user", content: "one two three" }],
        response_format: { type: "json_schema", json_schema: { name: "x", schema } },
      }),
    ),
    signal: new AbortController().signal,
    timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 60_000 },
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return JSON.parse(JSON.parse(text).choices[0].message.content);
}

describe("a text that a schema has a pattern for", () => {
  it.each([
    "^[A-Z]{3}-\\d+$",
    "^(?:red|green)$",
    "^\\+[1-9]\\d{6,14}$",
    "^#([0-9a-f]{3}){1,2}$",
    "^(?<year>\\d{4})-(0[1-9]|1[0-2])$",
    "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
    "^[^a-zA-Z0-9]$",
    "^[\\w.-]+?/[\\w.-]*$",
    "^\\$\\d{1,3}(,\\d{3})*(\\.\\d\\d)?$",
    "\\u0041\\x42\\u{43}\\t",
    "^[\\]\\-^]\\.\\*$",
    "^[]$|^a$",
    "^\\D\\W\\S\\s$",
    "^[a-]{2}$",
    "ab*c+d?e",
    "^$",
  ])("matches %s", async (pattern) => {
    expect(await answerBy({ type: "string", pattern })).toMatch(new RegExp(pattern, "u"));
  });

  it("has the length that the schema asks for, too, where the pattern leaves it open", async () => {
    const long = { type: "string", pattern: "^[a-z]+$", minLength: 20, maxLength: 30 };
    expect(await answerBy(long)).toMatch(/^[a-z]{20,30}$/);
  });

  it("is what libraries accept", async () => {
    const schema = z.object({ ulid: z.ulid(), phone: z.e164(), code: z.string().regex(/^[A-Z]{2}\d{4}$/) });
    expect(schema.safeParse(await answerBy(z.toJSONSchema(schema))).error).toBeUndefined();
  });

  it("is found at once where the pattern asks for nothing without end", async () => {
    const pattern = "^((((){9999999}){9999999}){9999999}){9999999}b$";
    expect(await answerBy({ type: "string", pattern })).toBe("b");
  });

  it("costs no more where a schema has very many of them", async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `p${index}`);
    const pattern = (name: string) => `^${"[a-z]".repeat(190)}${name}$`;
    const properties = Object.fromEntries(
      names.map((name) => [name, { type: "string", pattern: pattern(name) }]),
    );
    const answer = Object.values((await answerBy({ type: "object", properties })) as object);
    const read = answer.filter((text) => /^a{190}p/.test(String(text)));
    expect(read.length).toBeGreaterThan(10);
    expect(read.length).toBeLessThan(100);
  });

  it.each([
    ["looks around", "^(?=.*\\d)[a-z\\d]+$"],
    ["refers back", "^(a)\\1$"],
    ["has properties of characters", "^\\p{Lu}$"],
    ["is no regular expression", "^(a$"],
    ["is longer than any in use", `^${"a?".repeat(5_000)}$`],
    ["is nested without end", "(".repeat(900) + ")".repeat(900)],
    ["asks for more than a text may have", "^(((a{1000}){1000}){1000}){1000}$"],
  ])("repeats the message if the pattern %s", async (_, pattern) => {
    expect(await answerBy({ type: "string", pattern })).toBe("one two three");
  });
});
