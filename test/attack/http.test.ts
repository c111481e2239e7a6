import { beforeAll, describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

// What becomes of requests that are not quite for what is served: other methods, other paths, keys that do not exist.

const service = sharedByFile(() => startService({ env: { OSTIARY_LOG: "silent" } }));
let owner: Owner & { readonly key: string };

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
});

const REQUEST_ID = /^req_[0-9a-f]{32}$/;
const SECRET = "sk-neverRepeatThisKeyWhateverHappensToTheRequest000";

const withKey = (key = owner.key) => ({ authorization: `Bearer ${key}` });

function ask(method: string, path: string, headers: Record<string, string> = withKey()): Promise<Response> {
  return fetch(service.baseUrl + path, { method, headers });
}

interface Entry {
  readonly endpoint: string;
  readonly status: number;
  readonly error_code: string | null;
  readonly request_id: string;
}

async function entries(key = owner.key): Promise<readonly Entry[]> {
  const response = await ask("GET", "/v1/audit?limit=1000", withKey(key));
  return (await response.json()).data;
}

describe("HEAD", () => {
  const paths = ["/v1/models", "/v1/models/sandbox/echo", "/v1/openapi.json", "/v1/audit", "/healthz", "/"];

  it.each(paths)("of %s has the headers of GET without its body", async (path) => {
    const [get, head] = [await ask("GET", path), await ask("HEAD", path)];
    expect(head.status).toBe(200);
    for (const name of ["content-type", "content-encoding", "vary"]) {
      expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
    expect(head.headers.get("x-request-id")).toMatch(REQUEST_ID);
    expect(await head.text()).toBe("");
    if (path !== "/v1/audit" && path.startsWith("/v1/") && RUNTIME === "node") {
      expect(head.headers.get("content-length")).toBe(get.headers.get("content-length"));
    }
  });

  it("of an export has its headers, and reads no entries", async () => {
    const response = await ask("HEAD", "/v1/audit/export?format=csv");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("text/csv");
    expect(await response.text()).toBe("");
  });

  it("of a POST-only path is refused, and is listed in Allow where GET is", async () => {
    const refused = await ask("HEAD", "/v1/chat/completions");
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST"]);
    const deleted = await ask("DELETE", "/v1/models");
    expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("leaves an audit entry with the method HEAD", async () => {
    const response = await ask("HEAD", "/v1/models");
    const entry = (await entries()).find(({ request_id: id }) => id === response.headers.get("x-request-id"));
    expect(entry).toMatchObject({ endpoint: "HEAD /v1/models", status: 200 });
  });
});

describe("an answer to GET", () => {
  it("is kept by no cache, which could give it to the holder of another key or of none", async () => {
    const { id } = await (
      await fetch(`${service.baseUrl}/v1/responses`, {
        method: "POST",
        headers: { ...withKey(), "content-type": "application/json" },
        body: JSON.stringify({ model: "sandbox/echo", input: "Hello!" }),
      })
    ).json();
    const inOtherHeader = { "x-api-key": owner.key, "anthropic-version": "2023-06-01" };
    for (const [status, path, headers] of [
      [200, "/v1/models", withKey()],
      [200, "/v1/models", inOtherHeader],
      [200, "/v1/audit", withKey()],
      [200, "/v1/audit/export", withKey()],
      [200, "/v1/keys", withKey()],
      [200, `/v1/responses/${id}`, withKey()],
      [404, "/v1/models/no/such", inOtherHeader],
      [404, "/v1/responses/resp_none", withKey()],
      [405, "/v1/chat/completions", withKey()],
      [401, "/v1/audit", {}],
      // A file of another version of the dashboard, which another node may have.
      [404, "/assets/none.js", {}],
    ] as const) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await ask(method, path, headers);
        expect([path, answer.status, answer.headers.get("cache-control")]).toEqual([
          path,
          status,
          "no-store",
        ]);
      }
    }
    expect((await ask("GET", "/v1/openapi.json", {})).headers.get("cache-control")).toBe("no-cache");
  });
});

describe("a request path", () => {
  it("with a trailing slash is the same path", async () => {
    expect((await (await ask("GET", "/v1/models/")).json()).object).toBe("list");
    expect((await (await ask("GET", "/v1/models/sandbox/echo/")).json()).id).toBe("sandbox/echo");
    const response = await fetch(`${service.baseUrl}/v1/chat/completions/`, {
      method: "POST",
      headers: { ...withKey(), "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] }),
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });

  it("with scheme and host in front, as a proxy sends it, is the same path", async () => {
    for (const origin of ["http://gateway.example", "HTTPS://gateway.example:8443", service.baseUrl]) {
      using connection = await openRaw(service.baseUrl);
      connection.send(
        `HEAD ${origin}/v1/models HTTP/1.1\r\nhost: gateway.example\r\nauthorization: Bearer ${owner.key}\r\n\r\n`,
      );
      const { status, headers } = await connection.answer("HEAD");
      expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    }
  });

  const withoutVersion = [
    ["POST", "/chat/completions", "/v1/chat/completions"],
    ["POST", "/chat/completions/", "/v1/chat/completions"],
    ["GET", "/chat/completions", "/v1/chat/completions"],
    ["POST", "/embeddings", "/v1/embeddings"],
    ["GET", "/models", "/v1/models"],
    ["GET", "/models/sandbox/echo", "/v1/models"],
    ["POST", "/responses", "/v1/responses"],
    ["POST", "/messages", "/v1/messages"],
    ["POST", "/messages/batches", "/v1/messages"],
    ["POST", "/completions", "/v1/chat/completions"],
    ["GET", "/audit", "/v1/audit"],
    ["GET", "/audit/export", "/v1/audit/export"],
    ["GET", "/keys", "/v1/keys"],
    ["POST", "/keys", "/v1/keys"],
    ["POST", "/keys/1/revoke", "/v1/keys/{id}/revoke"],
    ["GET", "/usage", "/v1/usage"],
    ["GET", "/account/limits", "/v1/account/limits"],
    ["GET", "/credits/ledger", "/v1/credits/ledger"],
    ["GET", "/openapi.json", "/v1/openapi.json"],
    ["GET", "/V1/models", "/v1/models"],
    ["GET", "//v1/models", "/v1/models"],
    ["POST", "//v1/chat/completions", "/v1/chat/completions"],
    ["POST", "/v1//chat/completions", "/v1/chat/completions"],
    ["POST", "//chat/completions", "/v1/chat/completions"],
  ] as const;

  it.each(withoutVersion)(
    "without /v1 as it has to be, %s %s, is refused with the right path in the message",
    async (method, path, right) => {
      for (const headers of [withKey(), {}]) {
        const response = await ask(method, path, headers);
        expect(response.status).toBe(404);
        const { error } = await response.json();
        // Paths of the Messages API have its errors.
        expect(error.code ?? error.type).toMatch(/^not_found(?:_error)?$/);
        expect(error.message).toContain("/v1");
        expect(error.message).toContain(right);
      }
    },
  );

  it.each(["/models", "/models/sandbox/echo", "/audit", "/usage"])(
    "%s, which is also one of the dashboard, returns the page to browsers",
    async (path) => {
      const response = await ask("GET", path, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toContain("text/html");
    },
  );
});

describe("a request with a key", () => {
  const asked = [
    ["GET", "/v1/nothing", "GET /v1/nothing", 404],
    ["POST", "/v1/responses", "POST /v1/responses", 415],
    ["GET", "/v1", "GET /v1", 404],
    ["DELETE", "/v1/models", "DELETE /v1/models", 405],
    ["GET", "/v1/chat/completions", "GET /v1/chat/completions", 405],
    ["POST", "/chat/completions", "POST /chat/completions", 404],
    ["GET", "/v1/openapi.json", "GET /v1/openapi.json", 200],
    ["GET", `/v1/${"x".repeat(2_000)}`, `GET /v1/${"x".repeat(248)}`, 404],
    ["GET", `/v1/models/${SECRET}/x`, "GET /v1/models/{id}", 404],
    ["GET", `/v1/made-up/${SECRET}`, "GET /…", 404],
    ["GET", `/v1/made-up/${SECRET.replace("-", "%2D")}`, "GET /…", 404],
    ["GET", `/v1/made-up/${SECRET.replace("s", "%73")}`, "GET /…", 404],
    ["GET", `/trpc/${SECRET}`, "GET /…", 404],
    ["GET", `/trpc/${SECRET.replace("s", "%73")}`, "GET /…", 404],
    ["GET", `/v1/keys/${SECRET}`, "GET /…", 405],
    ["GET", `/v1/keys/${SECRET}/usage`, "GET /v1/keys/{id}/usage", 400],
    ["DELETE", `/v1/keys/${SECRET}`, "DELETE /v1/keys/{id}", 403],
  ] as const;

  it.each(asked)("for %s %s leaves an audit entry", async (method, path, endpoint, status) => {
    const response = await ask(method, path);
    expect(response.status).toBe(status);
    const entry = (await entries()).find(({ request_id: id }) => id === response.headers.get("x-request-id"));
    expect(entry).toMatchObject({ endpoint, status });
  });

  it("leaves an audit entry when the key was revoked", async () => {
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "revoked" });
    await owner.trpc.keys.revoke.mutate({ id });
    const response = await ask("GET", "/v1/nothing", withKey(key));
    expect(response.status).toBe(404);
    const entry = (await entries()).find((one) => one.request_id === response.headers.get("x-request-id"));
    expect(entry).toMatchObject({ endpoint: "GET /v1/nothing", status: 404 });
  });

  it("for unknown paths is counted as one endpoint in the metrics", async () => {
    for (let index = 0; index < 20; index++) await ask("GET", `/v1/made-up/${crypto.randomUUID()}`);
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(text).not.toContain("made-up");
    expect(text).toMatch(/ostiary_requests_total\{endpoint="unknown",model="",status="404"/);
  });
});

describe("a request without a known key", () => {
  it("is counted in the metrics, and answered as usual", async () => {
    const count = () => metricOf(service.baseUrl, "ostiary_unknown_key_requests_total");
    const madeUp = withKey(SECRET);
    const before = await count();
    expect((await ask("GET", "/v1/models", {})).status).toBe(401);
    expect((await ask("GET", "/v1/models", madeUp)).status).toBe(401);
    expect((await ask("GET", "/v1/nothing", {})).status).toBe(404);
    expect((await ask("GET", "/v1/nothing", madeUp)).status).toBe(404);
    expect((await ask("GET", "/v1/openapi.json", madeUp)).status).toBe(200);
    expect((await count()) - before).toBe(5);
    expect((await ask("GET", "/v1/openapi.json", {})).status).toBe(200);
    expect((await ask("GET", "/v1/models")).status).toBe(200);
    expect((await count()) - before).toBe(5);
  });
});
