import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRaw } from "../fixtures/raw-http.ts";
import { type RestReply, type RestRequest, sendRest } from "../fixtures/rest.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

let service: Service;
let owner: Owner & { readonly key: string; readonly id: string };
let token: string;

beforeAll(async () => {
  service = await startService();
  owner = await signUpWithKey(service.baseUrl);
  token = (await owner.trpc.tokens.create.mutate({ name: "script" })).token;
});

afterAll(async () => {
  // Nothing that was refused has done anything.
  const { keys } = await owner.trpc.keys.list.query();
  expect(keys.map(({ name, state }) => [name, state])).toEqual([["test", "active"]]);
  expect(service.stderr()).not.toContain('"level":"error"');
  await service?.[Symbol.asyncDispose]();
});

function send(method: string, path: string, request: RestRequest = {}): Promise<RestReply> {
  return sendRest(service.baseUrl, method, path, { credential: token, ...request });
}

const SECRET = "sk-neverRepeatThisKeyWhateverHappensToTheRequest000";
const JSON_TYPE = { "content-type": "application/json" };

describe("a query that is not valid", () => {
  const period = "from=2026-01-01&to=2026-01-31";
  const wrong: readonly (readonly [path: string, param: string])[] = [
    ["/v1/keys?limit=0", "limit"],
    ["/v1/keys?limit=1001", "limit"],
    ["/v1/keys?limit=1.5", "limit"],
    ["/v1/keys?limit=", "limit"],
    ["/v1/keys?limit=1e2", "limit"],
    ["/v1/keys?limit=99999999999999999999", "limit"],
    ["/v1/keys?limit=%31%00", "limit"],
    ["/v1/keys?limit=1&limit=1", "limit"],
    ["/v1/keys?cursor=active", "cursor"],
    [`/v1/keys?cursor=${"x".repeat(5_000)}`, "cursor"],
    ["/v1/keys?Limit=1", "Limit"],
    ["/v1/keys?direction=forward", "direction"],
    ["/v1/keys?__proto__=1", "__proto__"],
    ["/v1/keys?constructor=1", "constructor"],
    ["/v1/keys?id=1", "id"],
    ["/v1/account?expand=1", "expand"],
    ["/v1/account/limits?x", "x"],
    ["/v1/credits?limit=1", "limit"],
    ["/v1/credits/ledger?limit=201", "limit"],
    ["/v1/credits/ledger?cursor=1", "cursor"],
    ["/v1/credits/statement?limit=201", "limit"],
    ["/v1/credits/statement?cursor=1", "cursor"],
    [`/v1/usage/performance?${period}&interval=week`, "interval"],
    [`/v1/usage/performance?${period}&interval=day&group_by=key`, "group_by"],
    ["/v1/audit/summary?limit=1", "limit"],
    ["/v1/audit/summary?key=short-id", "key"],
    ["/v1/account/actions?cursor=%ff", "cursor"],
    ["/v1/account/actions/export?after=1.5", "after"],
    [`/v1/usage?${period}&interval=day&key=MqAr`, "key"],
    [`/v1/usage?${period}`, "interval"],
    [`/v1/usage?${period}&interval=week`, "interval"],
    [`/v1/usage?${period}&interval=day&group_by=account`, "group_by"],
    [`/v1/usage?${period}&interval=day&groupBy=key`, "groupBy"],
    [`/v1/usage?${period}&interval=day&interval=hour`, "interval"],
    [`/v1/usage?${period}&interval[]=day`, "interval[]"],
    ["/v1/usage?to=2026-01-31&interval=day", "from"],
    ["/v1/usage?from=2026-02-30&to=2026-03-01&interval=day", "from"],
    ["/v1/usage?from=2026-01-02&to=2026-01-01&interval=day", "to"],
    ["/v1/usage?from=2020-01-01&to=2026-01-01&interval=hour", "interval"],
    ["/v1/usage?from=1970-01-01&to=9999-12-31&interval=month", "to"],
  ];

  it.each(wrong)("%s is refused with the name of its parameter", async (path, param) => {
    expect(await send("GET", path)).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request", type: "invalid_request_error", param } },
    });
  });

  const messages: readonly (readonly [path: string, message: string])[] = [
    ["/v1/keys?cursor=abc", "cursor: must be the next_cursor of the previous page"],
    ["/v1/account/actions/export?after=999999999999999999", "after: must be at most 9,007,199,254,740,991"],
    [
      `/v1/usage?${period}&interval=day&model=fake/*`,
      "model: must be the id of one model. Only the audit log takes patterns",
    ],
  ];

  it.each(messages)("%s is told what it takes", async (path, message) => {
    expect(await send("GET", path)).toMatchObject({ status: 400, body: { error: { message } } });
  });

  it("does not have its secrets repeated", async () => {
    for (const path of [`/v1/keys?${SECRET}=1`, `/v1/keys?limit=${SECRET}`, `/v1/keys?cursor=${SECRET}`]) {
      const { status, body } = await send("GET", path);
      expect(status, path).toBe(400);
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
  });
});

describe("a path", () => {
  it("with an invalid id is refused", async () => {
    for (const id of ["x", "%00", "%2F", "..%2f..", SECRET, "%F0%9F%92%A9", "a b", "'or 1=1--"]) {
      const { status, body } = await send("GET", `/v1/keys/${id}/usage`);
      expect(status, id).toBe(400);
      expect(body.error).toMatchObject({ code: "invalid_request", param: "id" });
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
  });

  it("that is not quite one of the operations' is not found", async () => {
    const { id } = owner;
    for (const path of [
      "/v1/keys//usage",
      `/v1/keys/${id}/usage/x`,
      `/v1/keys/x/${id}/usage`,
      "/v1/keys/%/usage",
      "/v1/key",
      "/v1/account/x",
      "/v1/usage/x",
      "/v1/Keys",
    ]) {
      expect(await send("GET", path), path).toMatchObject({
        status: 404,
        body: { error: { code: "not_found" } },
      });
    }
  });

  it("with another method is answered with the allowed ones", async () => {
    const { id } = owner;
    const allowed = [
      ["PUT", "/v1/keys", "GET, HEAD, POST"],
      ["DELETE", "/v1/keys", "GET, HEAD, POST"],
      ["GET", `/v1/keys/${id}`, "DELETE"],
      ["PATCH", `/v1/keys/${id}`, "DELETE"],
      ["GET", `/v1/keys/${id}/rotate`, "POST"],
      ["GET", `/v1/keys/${id}/revoke`, "POST"],
      ["POST", `/v1/keys/${id}/usage`, "GET, HEAD"],
      ["POST", "/v1/account", "GET, HEAD"],
      ["OPTIONS", "/v1/credits", "GET, HEAD"],
    ] as const;
    for (const [method, path, methods] of allowed) {
      const { status, headers, body } = await send(method, path);
      expect([status, headers.get("allow")], `${method} ${path}`).toEqual([405, methods]);
      expect(body.error.code).toBe("method_not_allowed");
    }
  });
});

describe("a body that is not valid", () => {
  const bodies: readonly {
    readonly name: string;
    readonly body: string | Uint8Array<ArrayBuffer>;
    readonly type?: string;
    readonly headers?: Record<string, string>;
    readonly path?: string;
    readonly status?: number;
    readonly error: { readonly code: string; readonly param?: string | null };
  }[] = [
    { name: "no JSON", body: "{", error: { code: "invalid_json" } },
    { name: "a form", body: "name=x", error: { code: "invalid_json" } },
    { name: "broken UTF-8", body: new Uint8Array([0x22, 0xff, 0x22]), error: { code: "invalid_json" } },
    { name: "an array", body: '[{"name":"x"}]', error: { code: "invalid_request" } },
    { name: "a number", body: "1", error: { code: "invalid_request" } },
    { name: "nested too deep", body: `{"name":${"[".repeat(5_000)}`, error: { code: "invalid_request" } },
    { name: "no name", body: "{}", error: { code: "invalid_request", param: "name" } },
    { name: "nothing", body: "", error: { code: "invalid_request", param: "name" } },
    { name: "a name that is null", body: '{"name":null}', error: { code: "invalid_request", param: "name" } },
    {
      name: "a name that is a list",
      body: '{"name":["x"]}',
      error: { code: "invalid_request", param: "name" },
    },
    { name: "an empty name", body: '{"name":" "}', error: { code: "invalid_request", param: "name" } },
    { name: "a NUL", body: '{"name":"a\\u0000b"}', error: { code: "invalid_request", param: "name" } },
    {
      name: "half a surrogate pair",
      body: '{"name":"\\ud800"}',
      error: { code: "invalid_request", param: "name" },
    },
    { name: "a secret", body: `{"name":"${SECRET}"}`, error: { code: "invalid_request", param: "name" } },
    {
      name: "a name twice",
      body: '{"name":"a","name":"b"}',
      error: { code: "invalid_request", param: "name" },
    },
    {
      name: "a name twice, once escaped",
      body: '{"name":"a","n\\u0061me":"b"}',
      error: { code: "invalid_request", param: "name" },
    },
    {
      name: "the procedure's own name of a field",
      body: '{"name":"x","idempotencyKey":"12345678"}',
      error: { code: "invalid_request", param: "idempotencyKey" },
    },
    {
      name: "__proto__",
      body: '{"__proto__":{"name":"x"}}',
      error: { code: "invalid_request", param: "__proto__" },
    },
    {
      name: "typed values of tRPC",
      body: '{"json":{"name":"x"},"meta":{}}',
      error: { code: "invalid_request", param: "json" },
    },
    {
      name: "another type",
      body: "name=x",
      type: "application/x-www-form-urlencoded",
      status: 415,
      error: { code: "unsupported_media_type" },
    },
    {
      name: "text",
      body: '{"name":"x"}',
      type: "text/plain",
      status: 415,
      error: { code: "unsupported_media_type" },
    },
    {
      name: "compressed",
      body: '{"name":"x"}',
      headers: { "content-encoding": "gzip" },
      status: 415,
      error: { code: "unsupported_media_type" },
    },
    {
      name: "too large",
      body: `{"name":"${"x".repeat(17_000)}"}`,
      status: 413,
      error: { code: "request_too_large" },
    },
    {
      name: "a parameter of the query",
      body: '{"name":"x"}',
      path: "/v1/keys?name=x",
      error: { code: "invalid_request", param: "name" },
    },
    {
      name: "a short idempotency key",
      body: '{"name":"x"}',
      headers: { "idempotency-key": "short" },
      error: { code: "invalid_request", param: "Idempotency-Key" },
    },
  ];

  it.each(bodies)("($name) is refused", async (wrong) => {
    const { body, type = "application/json", headers = {}, path = "/v1/keys", status = 400, error } = wrong;
    const response = await fetch(service.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": type, ...headers },
      body,
    });
    const answer = await response.text();
    expect(answer).not.toContain(SECRET);
    expect({ status: response.status, ...JSON.parse(answer) }).toMatchObject({ status, error });
  });

  it("of an undeclared length is refused beyond 16 KiB", async () => {
    const response = await fetch(`${service.baseUrl}/v1/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, ...JSON_TYPE },
      body: new Blob(["x".repeat(1_000_000)]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect((await response.json()).error.code).toBe("request_too_large");
  });

  it("of a huge declared length is refused before it is sent", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(
      `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
        "content-type: application/json\r\ncontent-length: 100000000000\r\nexpect: 100-continue\r\n\r\n",
    );
    expect(await connection.answer()).toMatchObject({ status: 413 });
  });

  it("of a rotation is refused with the name of its field", async () => {
    const path = `/v1/keys/${owner.id}/rotate`;
    for (const [body, param] of [
      [{ idle_after_seconds: 59 }, "idle_after_seconds"],
      [{ idle_after_seconds: "3600" }, "idle_after_seconds"],
      [{ idle_after_seconds: 1e300 }, "idle_after_seconds"],
      [{ idleAfterSeconds: 3_600 }, "idleAfterSeconds"],
      [{ id: owner.id }, "id"],
      [{ name: {} }, "name"],
    ] as const) {
      const refused = await send("POST", path, { body });
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } });
      expect(refused.body.error.message).not.toMatch(/expected|received|Invalid/);
    }
    for (const [method, suffix] of [
      ["POST", "/revoke"],
      ["DELETE", ""],
    ] as const) {
      const refused = await send(method, `/v1/keys/${owner.id}${suffix}`, { body: { force: true } });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: "force" } } });
    }
  });

  it.skipIf(RUNTIME === "deno")("has no effect when its idempotency key is given twice", async () => {
    using connection = await openRaw(service.baseUrl);
    const body = JSON.stringify({ name: "twice" });
    connection.send(
      `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
        `idempotency-key: 12345678\r\nidempotency-key: 87654321\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error.param).toBe("Idempotency-Key");
  });
});
