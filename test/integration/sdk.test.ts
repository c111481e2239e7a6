import Ostiary, { AuthenticationError, InternalServerError, NotFoundError } from "ostiary";
import { beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let owner: Awaited<ReturnType<typeof signUpWithKey>>;
let client: Ostiary;

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
  client = new Ostiary({ apiKey: owner.key, baseURL: service.baseUrl, maxRetries: 0 });
});

const ask = (content: string) => ({ model: "sandbox/echo", messages: [{ role: "user" as const, content }] });

describe("the built SDK with a running service", () => {
  it("lists and retrieves models", async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain("sandbox/echo");
    expect(await client.models.retrieve("sandbox/echo")).toMatchObject({ id: "sandbox/echo", sandbox: true });
    await expect(client.models.retrieve("no/such")).rejects.toBeInstanceOf(NotFoundError);
  });

  it("chats with the same text, whole and streamed", async () => {
    const whole = await client.chat.completions.create(ask("one two three"));
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({
      ...ask("one two three"),
      stream: true,
    })) {
      streamed += chunk.choices[0]?.delta.content ?? "";
    }
    expect(streamed).toBe(whole.choices[0]?.message.content);
    expect(whole._request_id).toMatch(/^req_/);
  });

  it("throws when the model's server breaks off its answer", async () => {
    const read = async () => {
      for await (const _ of await client.chat.completions.create({ ...ask("sandbox:cut"), stream: true }));
    };
    await expect(read()).rejects.toBeInstanceOf(InternalServerError);
  });

  it("reads the whole audit log in pages", async () => {
    const answer = await client.chat.completions.create(ask("remember me"));
    const first = await client.audit.list({ limit: 2 });
    expect(first.data[0]).toMatchObject({
      request_id: answer._request_id,
      model: "sandbox/echo",
      status: 200,
    });
    expect(first.hasMore).toBe(true);
    const ids: string[] = [];
    for await (const entry of client.audit.list({ limit: 2 })) ids.push(entry.request_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(5);
    expect([...ids].sort().reverse()).toEqual(ids);
  });

  it("throws AuthenticationError once the key is revoked, over REST and at the start of a stream", async () => {
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await expect(client.models.list()).rejects.toBeInstanceOf(AuthenticationError);
    const stream = client.chat.completions.create({ ...ask("hi"), stream: true });
    await expect(stream).rejects.toMatchObject({ name: "AuthenticationError", code: "revoked_api_key" });
  });
});
