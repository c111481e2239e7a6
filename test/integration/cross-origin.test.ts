import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const PAGE = "https://chat.example.com";
const PREFLIGHT = {
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,x-stainless-lang",
};
const CHAT = "/v1/chat/completions";

interface Answer {
  readonly status: number;
  /** The headers of the CORS protocol. */
  readonly cors: Readonly<Record<string, string>>;
  readonly headers: Headers;
  readonly text: string;
}

async function send(service: Service, path: string, init: RequestInit): Promise<Answer> {
  const { status, headers, ...response } = await fetch(service.baseUrl + path, init).then(
    async (answered) => ({ status: answered.status, headers: answered.headers, text: await answered.text() }),
  );
  const cors = Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")));
  return { status, headers, cors, ...response };
}

/** A chat completion that a page asks for. */
function ask(service: Service, origin: string, key: string, body: object = {}): Promise<Answer> {
  const messages = [{ role: "user", content: "Say hello." }];
  return send(service, CHAT, {
    method: "POST",
    headers: { origin, authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/echo", messages, ...body }),
  });
}

function preflight(service: Service, origin: string, path = CHAT): Promise<Answer> {
  return send(service, path, { method: "OPTIONS", headers: { origin, ...PREFLIGHT } });
}

describe("a service whose operator has allowed pages of some origins", () => {
  const READABLE = { "access-control-allow-origin": PAGE, "access-control-expose-headers": "*" };
  let service: Service;
  let key: string;
  beforeAll(async () => {
    const allowed = `http://localhost:3000, ${PAGE.toUpperCase()}:443, app://obsidian.md`;
    service = await startService({
      env: { OSTIARY_ALLOWED_ORIGINS: allowed, OSTIARY_ACCESS_LOG: "1", OSTIARY_LOG: "info" },
    });
    ({ key } = await signUpWithKey(service.baseUrl));
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
  });

  it("tells their browsers that they may send any request with a key, and no cookies", async () => {
    for (const path of [CHAT, "/v1/models", "/v1/responses", "/v1/messages", "/v1/keys"]) {
      const { status, cors, headers, text } = await preflight(service, PAGE, path);
      expect([status, text]).toEqual([200, ""]);
      expect(cors).toEqual({
        ...READABLE,
        "access-control-allow-methods": "*",
        "access-control-allow-headers": "authorization, *",
        "access-control-max-age": "7200",
      });
      expect(headers.get("vary")?.toLowerCase()).toContain("origin");
      const requestId = headers.get("x-request-id") as string;
      await expect.poll(() => service.stderr()).toContain(requestId);
    }
  });

  it("lets them read whole answers, streams and refusals", async () => {
    const whole = await ask(service, PAGE, key);
    expect(whole).toMatchObject({ status: 200, cors: READABLE });
    const stream = await ask(service, PAGE, key, { stream: true });
    expect(stream).toMatchObject({ status: 200, cors: READABLE });
    expect(stream.text).toContain("data: [DONE]");
    for (const [status, refusal] of [
      [401, ask(service, PAGE, "sk-none")],
      [404, ask(service, PAGE, key, { model: "no/such" })],
      [400, ask(service, PAGE, key, { messages: 1 })],
      [
        405,
        send(service, CHAT, { method: "DELETE", headers: { origin: PAGE, authorization: `Bearer ${key}` } }),
      ],
      [401, send(service, CHAT, { method: "DELETE", headers: { origin: PAGE } })],
      [404, send(service, "/v1/none", { headers: { origin: PAGE } })],
      [404, send(service, "/chat/completions", { method: "POST", headers: { origin: PAGE } })],
      [200, send(service, "/v1/openapi.json", { headers: { origin: PAGE } })],
    ] as const) {
      expect(await refusal).toMatchObject({ status, cors: READABLE });
    }
  });

  it("tells caches that compressed answers depend on both the origin and the encoding", async () => {
    const headers = { origin: PAGE, authorization: `Bearer ${key}`, "accept-encoding": "gzip" };
    const models = await send(service, "/v1/models", { headers });
    expect(models).toMatchObject({ status: 200, cors: READABLE });
    const vary = models.headers.get("vary")?.toLowerCase().split(/, */).sort();
    expect(vary).toEqual(["accept-encoding", "origin"]);
  });

  it("tells caches the same with an answer that no page may read, which they must not give to one that may", async () => {
    const sent = { authorization: `Bearer ${key}`, "accept-encoding": "gzip" };
    for (const [path, headers] of [
      ["/v1/models", sent],
      ["/v1/models", { ...sent, origin: "https://other.example" }],
      ["/v1/openapi.json", {}],
      ["/v1/none", {}],
    ] as const) {
      const { cors, headers: answered } = await send(service, path, { headers });
      expect(cors["access-control-expose-headers"]).toBeUndefined();
      expect(answered.get("vary")?.toLowerCase().split(/, */)).toContain("origin");
    }
  });

  it("answers pages of applications, whose origins have schemes of their own", async () => {
    expect((await ask(service, "app://obsidian.md", key)).cors["access-control-allow-origin"]).toBe(
      "app://obsidian.md",
    );
  });

  it("keeps pages of other origins out", async () => {
    for (const origin of ["https://chat.example.com.evil.example", "http://chat.example.com", "null", "*"]) {
      const asked = await preflight(service, origin);
      expect(asked).toMatchObject({ status: 405, cors: {} });
      expect((await ask(service, origin, key)).cors).toEqual({});
    }
  });

  it("lets no page call the dashboard's procedures, read its pages or metrics", async () => {
    for (const path of ["/trpc/auth.me", "/dashboard/export", "/", "/metrics", "/healthz"]) {
      expect((await preflight(service, PAGE, path)).cors).toEqual({});
      expect((await send(service, path, { headers: { origin: PAGE } })).cors).toEqual({});
    }
  });

  it("answers a request that no page has sent without further headers", async () => {
    const { status, cors } = await send(service, CHAT, { method: "OPTIONS" });
    expect([status, cors]).toEqual([405, {}]);
    const headers = { authorization: `Bearer ${key}` };
    expect((await send(service, "/v1/models", { headers })).cors).toEqual({});
  });
});

describe("a service whose operator", () => {
  it("has allowed no page answers none", async () => {
    await using service = await startService();
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await preflight(service, PAGE)).toMatchObject({ status: 405, cors: {} });
    expect(await ask(service, PAGE, key)).toMatchObject({ status: 200, cors: {} });
  });

  it("has allowed all pages answers all alike", async () => {
    await using service = await startService({ env: { OSTIARY_ALLOWED_ORIGINS: "*" } });
    const { key } = await signUpWithKey(service.baseUrl);
    const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "*" };
    for (const origin of [PAGE, "null"]) {
      expect(await preflight(service, origin)).toMatchObject({ status: 200, cors });
      const answer = await ask(service, origin, key);
      expect(answer).toMatchObject({ status: 200, cors });
      expect(answer.headers.get("vary") ?? "").not.toContain("origin");
    }
  });
});

describe("the setting", () => {
  for (const wrong of [
    "https://chat.example.com/",
    "chat.example.com",
    "https://chat.example.com:99999",
    "http://host:port",
    "https://*.example.com",
    "*, https://a.example",
  ]) {
    it(`refuses ${wrong}, and says what is meant`, () => {
      expect(() => readConfig({ OSTIARY_ALLOWED_ORIGINS: wrong })).toThrow(
        /^OSTIARY_ALLOWED_ORIGINS: .* must be the scheme, host and port of a page, such as https:/,
      );
    });
  }
});
