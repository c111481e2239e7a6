import { request } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chatWhole, HI, startMessagesService } from "./messages-service.ts";

const service = sharedByFile(startMessagesService);
let key: string;
let otherKey: string;
beforeAll(async () => {
  key = service.owner.key;
  otherKey = (await service.owner.trpc.keys.create.mutate({ name: "other" })).key;
  service.answers.chat = chatWhole({ content: "Fine." });
});

const VERSION = { "anthropic-version": "2023-06-01" };
const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(service.service.baseUrl + path, { method, headers });
// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json();

/** A request with exactly these lines as headers, which may repeat. */
function postRaw(path: string, headers: readonly string[]): Promise<{ status: number; body: string }> {
  const text = JSON.stringify(HI);
  const always = ["host", "x", "content-type", "application/json", "content-length", `${text.length}`];
  return new Promise((resolve, reject) => {
    const sent = request(
      service.service.baseUrl + path,
      { method: "POST", headers: [...headers, ...always] },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (text: string) => {
          body += text;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    sent.on("error", reject).end(text);
  });
}

describe("the key of a request of the Messages API", () => {
  it.each([
    ["in x-api-key", (k: string) => ["x-api-key", k]],
    ["in Authorization", (k: string) => ["authorization", `Bearer ${k}`]],
    ["in both", (k: string) => ["x-api-key", k, "authorization", `Bearer ${k}`]],
    [
      "in Authorization, beside an empty x-api-key",
      (k: string) => ["x-api-key", "", "authorization", `Bearer ${k}`],
    ],
  ])("is accepted %s", async (_, headers) => {
    expect((await postRaw("/v1/messages?beta=true", headers(key))).status).toBe(200);
    expect((await postRaw("/v1/messages/count_tokens", headers(key))).status).toBe(200);
  });

  it.each([
    ["different keys in both headers", () => ["x-api-key", key, "authorization", `Bearer ${otherKey}`]],
    ["another scheme beside it", () => ["x-api-key", key, "authorization", "Basic eDp5"]],
    ["two x-api-key headers", () => ["x-api-key", key, "x-api-key", key]],
    ["a scheme in x-api-key", () => ["x-api-key", `Bearer ${key}`]],
    ["a management token", () => ["x-api-key", `mt-${key.slice(3)}`]],
    ["an unknown key", () => ["x-api-key", `${key.slice(0, -1)}_`]],
    ["no key", () => []],
    ["an empty key", () => ["x-api-key", ""]],
  ])("is refused with 401: %s", async (_, headers) => {
    const { status, body } = await postRaw("/v1/messages", headers());
    expect(status).toBe(401);
    expect(JSON.parse(body)).toMatchObject({ type: "error", error: { type: "authentication_error" } });
    expect(body).not.toContain(key.slice(0, 12));
  });

  it.each(["/v1/chat/completions", "/v1/embeddings", "/dashboard/chat/completions"])(
    "is not taken from x-api-key for %s",
    async (path) => {
      expect((await postRaw(path, ["x-api-key", key, "anthropic-version", "2023-06-01"])).status).toBe(401);
    },
  );

  it("is taken from x-api-key for models, from clients of Anthropic's API only", async () => {
    expect((await get("/v1/models", { "x-api-key": key, ...VERSION })).status).toBe(200);
    expect((await get("/v1/models", { "x-api-key": key })).status).toBe(401);
    expect((await get("/v1/models", { "x-api-key": otherKey, authorization: `Bearer ${key}` })).status).toBe(
      200,
    );
  });

  it("that is unknown is a security event, as in Authorization, and no key is none", async () => {
    const { trpc } = service.operator;
    const events = async () => {
      const { events: list } = await trpc.operator.security.query({ kind: "unknown_key" });
      return list.reduce((sum, event) => sum + event.count, 0);
    };
    const before = await events();
    const unknown = `sk-${"a".repeat(49)}`;
    await postRaw("/v1/messages", ["x-api-key", unknown]);
    expect(await events()).toBe(before + 1);
    await postRaw("/v1/messages", ["authorization", `Bearer ${unknown}`]);
    expect(await events()).toBe(before + 2);
    await postRaw("/v1/messages", []);
    expect(await events()).toBe(before + 2);
  });

  it("decides in whose log a request for an unserved path stands", async () => {
    await (await get("/v1/messages/batches", { "x-api-key": otherKey, ...VERSION })).text();
    const entry = await service.lastEntry();
    expect(entry).toMatchObject({ endpoint: "GET /v1/messages/batches", status: 404, keyName: "other" });
  });

  it("that is revoked is refused at once, in x-api-key too", async () => {
    const { key: revoked, id } = await service.owner.trpc.keys.create.mutate({ name: "revoked" });
    expect((await postRaw("/v1/messages", ["x-api-key", revoked])).status).toBe(200);
    await service.owner.trpc.keys.revoke.mutate({ id });
    const { status, body } = await postRaw("/v1/messages", ["x-api-key", revoked]);
    expect(status).toBe(401);
    expect(body).toContain("revoked");
  });
});

describe("an error for a client of the Messages API", () => {
  it.each([
    ["an unknown model", () => service.post({ ...HI, model: "nobody/nothing" }), 404, "not_found_error"],
    ["no JSON", () => service.post("{"), 400, "invalid_request_error"],
    ["a form", () => service.post("a=b", { "content-type": "text/plain" }), 415, "invalid_request_error"],
    ["batches", () => get("/v1/messages/batches"), 404, "not_found_error"],
    ["text completions", () => get("/v1/complete", {}, "POST"), 404, "not_found_error"],
    ["files", () => get("/v1/files", VERSION), 404, "not_found_error"],
    ["profiles of users", () => get("/v1/user_profiles", VERSION), 404, "not_found_error"],
    ["agents", () => get("/v1/agents", VERSION, "POST"), 404, "not_found_error"],
    ["a wrong method", () => get("/v1/messages", { "x-api-key": key }), 405, "invalid_request_error"],
    ["a wrong method without a key", () => get("/v1/messages"), 401, "authentication_error"],
    ["a version twice", () => get("/v1/v1/messages", {}, "POST"), 404, "not_found_error"],
    ["an operation twice", () => get("/v1/messages/v1/messages", {}, "POST"), 404, "not_found_error"],
    ["no version", () => get("/messages", {}, "POST"), 404, "not_found_error"],
    ["a path in front", () => get("/anthropic/v1/messages", {}, "POST"), 404, "not_found_error"],
    ["two slashes", () => get("//v1/messages", {}, "POST"), 404, "not_found_error"],
    ["two slashes within", () => get("/v1//messages", {}, "POST"), 404, "not_found_error"],
    ["a version in upper case", () => get("/V1/messages", {}, "POST"), 404, "not_found_error"],
    ["two slashes before the list", () => get("//v1/models", VERSION), 404, "not_found_error"],
    [
      "a model of the list",
      () => get("/v1/models/none", { "x-api-key": key, ...VERSION }),
      404,
      "not_found_error",
    ],
    ["no key for models", () => get("/v1/models", VERSION), 401, "authentication_error"],
  ])("has Anthropic's form: %s", async (_, ask, status, type) => {
    const response = await ask();
    expect(response.status).toBe(status);
    const id = response.headers.get("request-id");
    expect(id).toMatch(/./);
    expect(response.headers.get("x-request-id")).toBe(id);
    expect(await response.json()).toEqual({
      type: "error",
      error: { type, message: expect.stringMatching(/\w/) },
      request_id: id,
    });
  });

  it("says what the base URL is to be, by who adds the version: Anthropic's clients do, and the AI SDK does not", async () => {
    const added = "Set the client's base URL to the address of the service followed by /v1.";
    for (const [path, advice] of [
      ["/messages", ` ${added}`],
      ["/anthropic/v1/messages", ""],
      ["//v1/messages", ""],
    ]) {
      expect(await json(get(path ?? "", {}, "POST"))).toMatchObject({
        error: { message: `Use /v1/messages.${advice}` },
      });
    }
  });

  it("has OpenAI's form on the paths of OpenAI's API", async () => {
    expect(await json(get("/v1/files"))).toMatchObject({ error: { code: "not_found" } });
    expect(await json(get("/v1/models"))).toMatchObject({ error: { code: "invalid_api_key" } });
    const response = await get("/v1/chat/completions", VERSION, "POST");
    expect(await json(response)).toMatchObject({ error: { code: "invalid_api_key" } });
    expect(response.headers.get("request-id")).toBeNull();
  });

  it("tells of a limit, and when to try again", async () => {
    const limited = await signUpWithKey(service.service.baseUrl);
    const { id } = await limited.trpc.account.get.query();
    await service.operator.trpc.operator.accounts.setLimits.mutate({
      id,
      limits: { requestsPerMinute: 1, tokensPerMinute: null, concurrentRequests: null },
    });
    const headers = { "x-api-key": limited.key };
    // A count of tokens takes part in the limit on requests.
    expect((await service.post(HI, headers, "/v1/messages/count_tokens")).status).toBe(200);
    const response = await service.post(HI, headers);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await json(response)).toMatchObject({ error: { type: "rate_limit_error" } });
  });

  it("is recorded with the status that was answered", async () => {
    service.answers.chat = ({ response }) => void response.writeHead(503).end();
    expect((await service.post(HI)).status).toBe(529);
    expect(await service.lastEntry()).toMatchObject({ status: 529, errorCode: "server_is_overloaded" });
    service.answers.chat = chatWhole({ content: "Fine." });
  });
});

describe("HEAD /", () => {
  it("is answered, as Claude Code asks before its first request", async () => {
    const response = await get("/", {}, "HEAD");
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

describe("the models", () => {
  const list = (query = "") => json(get(`/v1/models${query}`, { "x-api-key": key, ...VERSION }));

  it("are listed for Anthropic's clients by all their names", async () => {
    const { data, ...page } = await list("?limit=1000");
    expect(page).toEqual({ has_more: false, first_id: data[0].id, last_id: data.at(-1).id });
    expect(data).toContainEqual({
      type: "model",
      id: "claude-acme",
      display_name: "acme/chat",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      max_input_tokens: null,
      lifecycle: "active",
      deprecated_at: null,
      retires_at: null,
      capabilities: null,
      line: null,
      max_tokens: null,
    });
    const named = data.map(({ id }: { id: string }) => id);
    expect(named).toEqual(expect.arrayContaining(["acme/chat", "claude-acme", "acme/native", "acme/priced"]));
    expect(await json(service.post({ ...HI, model: "claude-acme" }))).toMatchObject({ model: "acme/chat" });
  });

  it("come by pages, forward and backward", async () => {
    const all = (await list("?limit=1000")).data.map(({ id }: { id: string }) => id);
    const pages: string[] = [];
    let after = "";
    for (let hasMore = true; hasMore; ) {
      const page = await list(`?limit=2${after}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      pages.push(...page.data.map(({ id }: { id: string }) => id));
      after = `&after_id=${encodeURIComponent(page.last_id)}`;
      hasMore = page.has_more;
    }
    expect(pages).toEqual(all);
    const before = await list(`?limit=2&before_id=${encodeURIComponent(all[3])}`);
    expect(before.data.map(({ id }: { id: string }) => id)).toEqual(all.slice(1, 3));
    expect(before.has_more).toBe(true);
  });

  it.each([
    "limit=0",
    "limit=1001",
    "limit=x",
    "limit=",
    "after_id=none",
    "after_id=acme/chat&before_id=acme/chat",
  ])("are refused with %s", async (query) => {
    const response = await get(`/v1/models?${query}`, { "x-api-key": key, ...VERSION });
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("are found by name", async () => {
    const one = await json(get("/v1/models/claude-acme", { "x-api-key": key, ...VERSION }));
    expect(one).toMatchObject({ type: "model", id: "claude-acme", display_name: "acme/chat" });
  });

  it("tell the lengths of their context and answers", async () => {
    const one = await json(get("/v1/models/acme/priced", { "x-api-key": key, ...VERSION }));
    expect(one).toMatchObject({ max_input_tokens: 100_000, max_tokens: 8_192 });
  });
});
