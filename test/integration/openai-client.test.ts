import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError } from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let owner: Awaited<ReturnType<typeof signUpWithKey>>;
let client: OpenAI;

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
  client = new OpenAI({ apiKey: owner.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
});

const ask = (content: string) => [{ role: "user" as const, content }];

describe("the official openai package, pointed at the service", () => {
  it("lists the models, with the sandbox models labelled", async () => {
    const models = await client.models.list();
    const echo = models.data.find((model) => model.id === "sandbox/echo");
    expect(echo).toMatchObject({ object: "model", owned_by: "sandbox", sandbox: true });
    expect(await client.models.retrieve("sandbox/echo")).toMatchObject({ id: "sandbox/echo" });
  });

  it("completes a chat", async () => {
    const answer = await client.chat.completions.create({
      model: "sandbox/echo",
      messages: ask("one two three"),
    });
    expect(answer.choices[0]?.message.content).toContain("one two three");
    expect(answer._request_id).toMatch(/^req_/);
  });

  it("streams, with usage only on request", async () => {
    const text = async (asked: object) => {
      const stream = await client.chat.completions.create({
        model: "sandbox/echo",
        messages: ask("one two three"),
        stream: true,
        ...asked,
      });
      let content = "";
      let usage = 0;
      let chunks = 0;
      for await (const chunk of stream) {
        chunks++;
        expect(chunk.model).toBe("sandbox/echo");
        content += chunk.choices[0]?.delta.content ?? "";
        usage += chunk.usage?.total_tokens ?? 0;
      }
      return { content, usage, chunks };
    };
    const plain = await text({ usage: { include: false } });
    expect(plain.content).toContain("one two three");
    expect(plain.usage).toBe(0);
    expect(plain.chunks).toBeGreaterThan(2);
    // As OpenAI's clients and OpenRouter's request it.
    for (const asked of [{ stream_options: { include_usage: true } }, { usage: { include: true } }]) {
      const withUsage = await text(asked);
      expect(withUsage.content).toBe(plain.content);
      expect(withUsage.usage).toBeGreaterThan(0);
    }
  });

  it("has every stream's tokens in the audit log, with or without usage on request", async () => {
    const { data } = await (
      await fetch(`${service.baseUrl}/v1/audit?limit=3`, {
        headers: { authorization: `Bearer ${owner.key}` },
      })
    ).json();
    expect(data[0].usage_source).toBe("upstream");
    const counts = new Set(data.map((entry: { token_count: number }) => entry.token_count));
    expect(counts.size).toBe(1);
    expect(data[0].token_count).toBeGreaterThan(0);
    expect(data[0].time_to_first_token_ms).toBeTypeOf("number");
  });

  it("calls tools", async () => {
    const answer = await client.chat.completions.create({
      model: "sandbox/echo",
      messages: ask("What is the weather?"),
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
          },
        },
      ],
      tool_choice: "required",
    });
    const [call] = answer.choices[0]?.message.tool_calls ?? [];
    expect(answer.choices[0]?.finish_reason).toBe("tool_calls");
    expect(call).toMatchObject({ type: "function", function: { name: "get_weather" } });
    const args = call?.type === "function" ? JSON.parse(call.function.arguments) : null;
    expect(args).toEqual({ city: expect.any(String) });
  });

  it("gets JSON by a schema", async () => {
    const answer = await client.chat.completions.create({
      model: "sandbox/echo",
      messages: ask("anything"),
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "point",
          strict: true,
          schema: {
            type: "object",
            properties: { x: { type: "integer" }, unit: { enum: ["m", "ft"] } },
            required: ["x", "unit"],
            additionalProperties: false,
          },
        },
      },
    });
    const point = JSON.parse(answer.choices[0]?.message.content ?? "");
    expect(Number.isInteger(point.x)).toBe(true);
    expect(["m", "ft"]).toContain(point.unit);
  });

  it("throws its own error classes", async () => {
    const unknown = client.chat.completions.create({ model: "no/such", messages: ask("hi") });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
    const invalid = client.chat.completions.create({ model: "sandbox/echo", messages: [] });
    await expect(invalid).rejects.toBeInstanceOf(BadRequestError);
  });

  it("throws a typed error when a stream breaks off", async () => {
    const stream = await client.chat.completions.create({
      model: "sandbox/echo",
      messages: ask("sandbox:cut"),
      stream: true,
    });
    const drain = async () => {
      for await (const _ of stream);
    };
    const error = await drain().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error.code).toBe("upstream_error");
    const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
    expect(entries[0]).toMatchObject({
      status: 200,
      errorCode: "upstream_error",
      endReason: "upstream_error",
    });
  });

  it("aborts a stream, and the audit entry says so", async () => {
    const stream = await client.chat.completions.create({
      model: "sandbox/lorem",
      messages: ask("a long story"),
      max_tokens: 5_000_000,
      stream: true,
    });
    for await (const _ of stream) break;
    await expect
      .poll(async () => (await owner.trpc.audit.list.query({ limit: 1 })).entries[0])
      .toMatchObject({ model: "sandbox/lorem", endReason: "client_gone" });
  });

  it("throws AuthenticationError once the key is revoked", async () => {
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await expect(client.models.list()).rejects.toBeInstanceOf(AuthenticationError);
    const chat = client.chat.completions.create({ model: "sandbox/echo", messages: ask("hi") });
    await expect(chat).rejects.toMatchObject({ status: 401, code: "revoked_api_key" });
  });
});
