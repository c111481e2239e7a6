import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { Ostiary, OstiaryError, OutputValidationError, type StandardSchema } from "../../sdk/src/index.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { answersInTurn, caught, newClient } from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const City = z.object({ name: z.string(), people: z.number().int().min(0) });

const answering = (message: object, finish = "stop") =>
  answersInTurn(() =>
    Response.json(
      { choices: [{ index: 0, message, finish_reason: finish }] },
      { headers: { "x-request-id": "r" } },
    ),
  );
const content = (text: string | null) => ({ role: "assistant", content: text });
const bodyOf = ({ mock }: ReturnType<typeof answersInTurn>) => JSON.parse(String(mock.calls[0]?.[1]?.body));

/** A schema of a library that cannot convert its schemas. */
const Even: StandardSchema<bigint> = {
  "~standard": {
    version: 1,
    vendor: "own",
    validate: async (value) =>
      typeof value === "number" && value % 2 === 0
        ? { value: BigInt(value) }
        : { issues: [{ message: "not even", path: ["a", { key: 1 }] }] },
  },
};

describe("an answer that is parsed", () => {
  it("has the schema's type, and asks for its JSON schema with objects that are closed", async () => {
    const fetch = answering(content('{"name":"Paris","people":2}'));
    const request = newClient({ fetch }).chat.completions.parse(ask, { schema: City, name: "city" });
    const { choices, _request_id } = await request;
    const [choice] = choices;
    expectTypeOf(choice?.message.parsed).toEqualTypeOf<{ name: string; people: number } | null | undefined>();
    expect(choice?.message.parsed).toEqual({ name: "Paris", people: 2 });
    expect(_request_id).toBe("r");
    const { response_format: format } = bodyOf(fetch);
    expect(format).toMatchObject({ type: "json_schema", json_schema: { name: "city", strict: true } });
    expect(format.json_schema.schema).toMatchObject({
      required: ["name", "people"],
      additionalProperties: false,
    });
    expect((await request.withResponse()).requestId).toBe("r");
  });

  it("may be validated by any Standard Schema, with a JSON schema beside it", async () => {
    const { completions } = newClient({ fetch: answering(content("4")) }).chat;
    const jsonSchema = { type: "integer", multipleOf: 2 };
    const { choices } = await completions.parse(ask, { schema: Even, jsonSchema, strict: false });
    expect(choices[0]?.message.parsed).toBe(4n);
    expect(() => completions.parse(ask, { schema: Even })).toThrow(/own.*jsonSchema/);
  });

  it.each([
    ["a refusal", { ...content(null), refusal: "No." }],
    ["a tool call", { ...content(null), tool_calls: [{ id: "c", type: "function", function: {} }] }],
  ])("is null in the case of %s", async (_, message) => {
    const { choices } = await newClient({ fetch: answering(message) }).chat.completions.parse(ask, {
      schema: City,
    });
    expect(choices[0]?.message.parsed).toBeNull();
  });

  it.each([
    ["does not follow the schema", '{"name":1,"people":2}', "stop", /name: /, 1],
    ["is not JSON", "Paris", "stop", /not JSON/, 0],
    ["was cut off", '{"name":"Par', "length", /cut off/, 0],
  ])("that %s is an error with the answer", async (_, text, finish, message, issues) => {
    const { completions } = newClient({ fetch: answering(content(text), finish) }).chat;
    const error = await caught(completions.parse(ask, { schema: City }));
    if (!(error instanceof OutputValidationError)) throw error;
    expect(error).toBeInstanceOf(OstiaryError);
    expect(error.message).toMatch(message);
    expect(error.issues).toHaveLength(issues);
    expect(error.completion.choices[0]?.message.content).toBe(text);
  });

  it("has issues with the paths of their fields", async () => {
    const { completions } = newClient({ fetch: answering(content("3")) }).chat;
    const error = await caught(completions.parse(ask, { schema: Even, jsonSchema: {} }));
    expect(error).toMatchObject({ message: "The answer does not follow the schema: a.1: not even" });
  });
});

describe("parsing with a running service", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
  });

  it("has an answer that follows the schema", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const client = new Ostiary({ apiKey: key, baseURL: service.baseUrl });
    const body = { ...ask, model: "sandbox/echo" };
    const { choices } = await client.chat.completions.parse(body, { schema: City });
    expect(choices[0]?.message.parsed).toEqual({ name: expect.any(String), people: expect.any(Number) });
  });
});
