import { describe, expect, it } from "vitest";
import { sendChat } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, PASSWORD, signUp, visit } from "../fixtures/user.ts";

const service = sharedByFile(startService);

function chat(key: string, content: string): Promise<Response> {
  return sendChat(service.baseUrl, key, { messages: [{ role: "user", content }] });
}

describe("a user's first session", () => {
  let owner: Owner;
  let key: { id: string; key: string; keyId: string };

  it("begins with a sign-up that signs in", async () => {
    owner = await signUp(service.baseUrl);
    expect(await owner.trpc.auth.me.query()).toMatchObject({
      user: { email: owner.email },
      account: { name: "Test", plan: "free", state: "active" },
    });
  });

  it("creates a key, whose string is shown only once", async () => {
    key = await owner.trpc.keys.create.mutate({ name: "production" });
    expect(key.key).toMatch(/^sk-[0-9A-Za-z]{49}$/);
    expect(key.keyId).toBe(key.key.slice(-4));
    const listed = await owner.trpc.keys.list.query();
    expect(listed.keys).toMatchObject([
      { id: key.id, name: "production", keyId: key.keyId, state: "active" },
    ]);
    expect(JSON.stringify(listed)).not.toContain(key.key);
  });

  it("gets an answer from a chat", async () => {
    const response = await chat(key.key, "Hello there");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    const answer = await response.json();
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "sandbox/echo",
      choices: [{ message: { role: "assistant", content: expect.stringContaining("Hello there") } }],
    });
    expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens + answer.usage.completion_tokens);
  });

  it("has an audit entry of that request", async () => {
    const response = await chat(key.key, "once more");
    const { usage } = await response.json();
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries).toHaveLength(2);
    expect(entries[0]).toMatchObject({
      requestId: response.headers.get("x-request-id"),
      keyId: key.keyId,
      keyName: "production",
      endpoint: "POST /v1/chat/completions",
      model: "sandbox/echo",
      status: 200,
      errorCode: null,
      endReason: "stop",
      usageSource: "upstream",
      tokenCount: usage.total_tokens,
      sourceIp: "127.0.0.1",
    });
    expect(entries[0]?.timestamp.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect((await owner.trpc.keys.list.query()).keys[0]?.usage.lastUsedAt).toEqual(entries[0]?.timestamp);
  });

  it("has the key refused as soon as it is revoked, and sees the attempt", async () => {
    const revoked = await owner.trpc.keys.revoke.mutate({ id: key.id });
    expect(revoked.state).toBe("revoked");
    const response = await chat(key.key, "still there?");
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringContaining("revoked"),
        type: "authentication_error",
        param: null,
        code: "revoked_api_key",
      },
    });
    const models = await fetch(`${service.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key.key}` },
    });
    expect(models.status).toBe(401);
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries[1]).toMatchObject({ status: 401, errorCode: "revoked_api_key", endReason: "refused" });
  });

  it("keeps the key revoked when it is revoked again", async () => {
    const first = await owner.trpc.keys.revoke.mutate({ id: key.id });
    const second = await owner.trpc.keys.revoke.mutate({ id: key.id });
    expect(second).toEqual(first);
  });

  it("is no longer valid after signing out", async () => {
    const stolen = owner.cookie();
    await owner.trpc.auth.signOut.mutate();
    expect(owner.cookie()).toBe("");
    const thief = visit(service.baseUrl, { cookie: stolen });
    expect(await thief.trpc.auth.me.query()).toBeNull();
    await expect(thief.trpc.keys.list.query()).rejects.toMatchObject({
      data: { httpStatus: 401, ostiary: { code: "not_signed_in" } },
    });
  });

  it("can be opened again, with the right password only", async () => {
    const visitor = visit(service.baseUrl);
    const wrong = visitor.trpc.auth.signIn.mutate({ email: owner.email, password: "not the password" });
    await expect(wrong).rejects.toMatchObject({
      data: { httpStatus: 401, ostiary: { code: "wrong_credentials" } },
    });
    await visitor.trpc.auth.signIn.mutate({ email: owner.email.toUpperCase(), password: PASSWORD });
    expect((await visitor.trpc.keys.list.query()).keys).toHaveLength(1);
  });
});

describe("an account", () => {
  it("sees no keys or entries of another one", async () => {
    const [alice, bob] = await Promise.all([signUp(service.baseUrl), signUp(service.baseUrl)]);
    const key = await alice.trpc.keys.create.mutate({ name: "hers" });
    await chat(key.key, "private");
    expect((await bob.trpc.keys.list.query()).keys).toEqual([]);
    expect((await bob.trpc.audit.list.query()).entries).toEqual([]);
    await expect(bob.trpc.keys.revoke.mutate({ id: key.id })).rejects.toMatchObject({
      data: { ostiary: { code: "not_found" } },
    });
    expect((await chat(key.key, "still works")).status).toBe(200);
  });

  it("can't be created twice for one e-mail address", async () => {
    const owner = await signUp(service.baseUrl);
    const again = visit(service.baseUrl).trpc.auth.signUp.mutate({
      email: owner.email,
      password: PASSWORD,
      accountName: "Again",
    });
    await expect(again).rejects.toMatchObject({ data: { httpStatus: 409, ostiary: { code: "conflict" } } });
  });

  it("has unique names for active keys, and can reuse a revoked key's name", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "staging" });
    await expect(owner.trpc.keys.create.mutate({ name: "staging" })).rejects.toMatchObject({
      data: { httpStatus: 409, ostiary: { code: "conflict", param: "name" } },
    });
    await owner.trpc.keys.revoke.mutate({ id });
    await owner.trpc.keys.create.mutate({ name: "staging" });
  });

  it("has at most 50 active keys on the free plan, however many are created concurrently", async () => {
    const owner = await signUp(service.baseUrl);
    const attempts = Array.from({ length: 60 }, (_, index) =>
      owner.trpc.keys.create.mutate({ name: `key ${index}` }).then(
        () => "created",
        (error) => error.data?.ostiary?.code,
      ),
    );
    const outcomes = await Promise.all(attempts);
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(50);
    expect(outcomes.filter((outcome) => outcome === "key_limit_reached")).toHaveLength(10);
  });
});

describe("an API key", () => {
  it("reads its account through procedures and never changes it", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "script" });
    const script = visit(service.baseUrl, { authorization: `Bearer ${key}` });
    expect((await script.trpc.keys.list.query()).keys).toHaveLength(1);
    expect((await script.trpc.models.list.query()).models.length).toBeGreaterThan(0);
    await expect(script.trpc.keys.create.mutate({ name: "successor" })).rejects.toMatchObject({
      data: { httpStatus: 403, ostiary: { code: "permission_denied" } },
    });
    await expect(script.trpc.keys.revoke.mutate({ id })).rejects.toMatchObject({
      data: { ostiary: { code: "permission_denied" } },
    });
  });

  it("has its procedures logged like every other request, refused ones included", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "script" });
    const script = visit(service.baseUrl, { authorization: `Bearer ${key}` });
    await script.trpc.keys.list.query();
    await owner.trpc.keys.revoke.mutate({ id });
    await expect(script.trpc.keys.list.query()).rejects.toThrow();
    expect((await owner.trpc.audit.list.query()).entries).toMatchObject([
      { endpoint: "GET /trpc/keys.list", status: 401, errorCode: "revoked_api_key", sourceIp: "127.0.0.1" },
      { endpoint: "GET /trpc/keys.list", status: 200, errorCode: null, keyName: "script" },
    ]);
  });
});
