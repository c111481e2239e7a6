import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { createServer } from "vite";
import { describe, expect, it, vi } from "vitest";
import { openRaw } from "../fixtures/raw-http.ts";
import { ROOT, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { PASSWORD, signUp, visit } from "../fixtures/user.ts";

const service = sharedByFile(startService);

describe("the dashboard", () => {
  it("is served at / and at its own paths, with a policy that allows nothing from other origins", async () => {
    for (const path of ["/", "/settings/keys", "/audit", "/sign-in"]) {
      const response = await fetch(service.baseUrl + path, { headers: { accept: "text/html" } });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toContain("text/html");
      expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
      expect(response.headers.get("content-security-policy")).not.toContain("unsafe");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    }
  });

  it("has assets that may be cached forever, and a page that may not", async () => {
    const page = await fetch(service.baseUrl);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const asset = /\/assets\/[^"]+\.js/.exec(await page.text())?.[0] ?? "";
    const script = await fetch(service.baseUrl + asset);
    expect(script.status).toBe(200);
    expect(script.headers.get("cache-control")).toContain("immutable");
    expect(script.headers.get("content-type")).toContain("javascript");
  });

  it("serves no file outside its folder", async () => {
    for (const path of ["/assets/none.js", "/%2e%2e/package.json", "/..%2fpackage.json", "/.env"]) {
      const response = await fetch(service.baseUrl + path);
      expect(await response.text()).not.toContain("workspaces");
      if (path.endsWith(".js") || path.endsWith(".json")) expect(response.status).toBe(404);
    }
  });
});

describe("the health endpoints", () => {
  it("report that the service is alive and ready", async () => {
    expect((await fetch(`${service.baseUrl}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${service.baseUrl}/readyz`)).json()).toEqual({ status: "ready" });
    // A probe of the dashboard's page would never fail.
    expect(await (await fetch(`${service.baseUrl}/readyz/`)).json()).toEqual({ status: "ready" });
    expect(await (await fetch(`${service.baseUrl}/healthz/`)).json()).toEqual({ status: "ok" });
  });

  it("answer a proxy that asks by HTTP/1.0 without a host, as HAProxy does by default", async () => {
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write("GET /readyz HTTP/1.0\r\n\r\n");
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.[01] 200 /);
    expect(answer).toContain('{"status":"ready"}');
  });
});

/** The status of a request whose address has this host, as a browser sends it that was told a wrong address for a name. */
async function statusAt(host: string, path: string, body = "", baseUrl = service.baseUrl): Promise<number> {
  const { port } = new URL(baseUrl);
  const type = `origin: http://${host}:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  using connection = await openRaw(baseUrl);
  connection.send(
    `${body === "" ? "GET" : "POST"} ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\n${body && type}\r\n${body}`,
  );
  return (await connection.answer()).status;
}

describe("a service that listens on its own machine only", () => {
  const signUpBody = () => {
    const email = `${crypto.randomUUID()}@example.com`;
    return JSON.stringify({ json: { email, password: PASSWORD, accountName: "Test" } });
  };

  it.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example."])(
    "is not used by a page of %s, whose name leads to this machine",
    async (host) => {
      expect(await statusAt(host, "/trpc/auth.signUp", signUpBody())).toBe(403);
      for (const path of ["/trpc/service.info", "/metrics", "/", "/docs"]) {
        expect(await statusAt(host, path), path).toBe(403);
      }
      for (const path of ["/healthz", "/readyz"]) expect(await statusAt(host, path), path).toBe(200);
    },
  );

  it.each(["localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "[::1]", "workstation"])(
    "is open at %s",
    async (host) => {
      expect(await statusAt(host, "/trpc/service.info")).toBe(200);
      expect(await statusAt(host, "/sign-in")).toBe(200);
    },
  );
});

describe("a request whose host no address can have", () => {
  it.each(["256.1.1.1", "1.2.3.4.5", "4294967296", "a.1", "a%00"])("is refused: %s", async (host) => {
    for (const path of ["/", "/healthz", "/trpc/service.info"]) {
      expect(await statusAt(host, path), path).toBe(400);
    }
    expect(await statusAt(host, "/trpc/auth.signIn", "{}")).toBe(400);
  });
});

describe("the dashboard in development", () => {
  it("signs its user up from the pages that Vite serves", async () => {
    vi.stubEnv("OSTIARY_DEV_SERVICE", service.baseUrl);
    const vite = await createServer({
      configFile: `${ROOT}/dashboard-ui/vite.config.ts`,
      logLevel: "silent",
      optimizeDeps: { noDiscovery: true },
      server: { host: "127.0.0.1", port: 0, watch: null },
    });
    try {
      await vite.listen();
      const origin = new URL(vite.resolvedUrls?.local[0] ?? "").origin;
      const page = { origin, "sec-fetch-site": "same-origin" };
      expect(
        (
          await visit(origin, page).trpc.auth.signUp.mutate({
            email: `${crypto.randomUUID()}@example.com`,
            password: PASSWORD,
            accountName: "Test",
          })
        ).user.role,
      ).toBe("owner");
    } finally {
      await vite.close();
      vi.unstubAllEnvs();
    }
  });
});

/** What a request from a page of another site has: one of these. */
const foreignHeaders = (): Record<string, string>[] => [
  { origin: "https://evil.example" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { origin: service.baseUrl.replace("http:", "https:") },
];

describe("a query", () => {
  it("that another site's page has sent with the session's cookie is refused, before it counts as a call", async () => {
    const { cookie } = await signUp(service.baseUrl);
    const statusOf = async (headers: Record<string, string>) =>
      (await fetch(`${service.baseUrl}/trpc/auth.me`, { headers })).status;
    for (const headers of foreignHeaders()) {
      expect(await statusOf({ cookie: cookie(), ...headers }), JSON.stringify(headers)).toBe(403);
      expect(await statusOf(headers), JSON.stringify(headers)).toBe(200);
    }
    expect(await statusOf({ cookie: cookie(), "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await statusOf({ cookie: cookie(), "sec-fetch-site": "none" })).toBe(200);
  });
});

describe("a mutation", () => {
  const signOut = (headers: Record<string, string>, body: BodyInit = "{}") =>
    fetch(`${service.baseUrl}/trpc/auth.signOut`, { method: "POST", headers, body });
  const json = { "content-type": "application/json" };

  it("that another site's page has sent is refused", async () => {
    for (const headers of foreignHeaders()) {
      const response = await signOut({ ...json, ...headers });
      expect(response.status, JSON.stringify(headers)).toBe(403);
      expect(await response.json()).toMatchObject({ error: { code: "permission_denied" } });
    }
    expect(
      (await signOut({ ...json, origin: service.baseUrl, "sec-fetch-site": "same-origin" })).status,
    ).toBe(200);
  });

  it("with a body that needs no preflight is refused", async () => {
    const form = new FormData();
    form.set("a", "b");
    expect((await signOut({}, form)).status).toBe(415);
    expect((await signOut({ "content-type": "text/plain" })).status).toBe(415);
    expect((await signOut({ "content-type": "application/octet-stream" })).status).toBe(415);
  });
});

describe("a procedure", () => {
  it("returns what is wrong with its input, and no internals", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const failed = trpc.keys.create.mutate({ name: " " });
    const error = await failed.catch((thrown) => thrown);
    expect(error.data).toMatchObject({
      httpStatus: 400,
      ostiary: { code: "invalid_request", param: "name" },
    });
    expect(error.data.stack).toBeUndefined();
    expect(error.message).toContain("name");
  });

  it("that does not exist is a 404", async () => {
    const response = await fetch(`${service.baseUrl}/trpc/keys.destroyAll`);
    expect(response.status).toBe(404);
  });

  it("refuses a batch with too many calls, or of queries and mutations, and says so", async () => {
    const batches = [Array(500).fill("auth.me"), Array(21).fill("auth.me"), ["auth.me", "auth.signOut"]].map(
      (names) => fetch(`${service.baseUrl}/trpc/${names.join(",")}?batch=1`),
    );
    for (const response of await Promise.all(batches)) {
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("A batch has at most 20 calls, all queries or all mutations.");
    }
  });

  it("has the same answer for a wrong password and an unknown user", async () => {
    const owner = await signUp(service.baseUrl);
    const attempt = (email: string) =>
      visit(service.baseUrl)
        .trpc.auth.signIn.mutate({ email, password: "wrong password" })
        .catch((error) => ({ message: error.message, code: error.data.ostiary.code }));
    expect(await attempt(owner.email)).toEqual(await attempt("nobody@example.com"));
  });

  it("keeps the session in a cookie that scripts can't read and other sites don't send", async () => {
    const response = await fetch(`${service.baseUrl}/trpc/auth.signUp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        json: {
          email: `${crypto.randomUUID()}@example.com`,
          password: "long enough to be one",
          accountName: "A",
        },
      }),
    });
    const [cookie = ""] = response.headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Lax/i);
    expect(JSON.stringify(await response.json())).not.toContain(cookie.split(/[=;]/)[1]);
  });
});

describe("a service that browsers reach over HTTPS", () => {
  it("has cookies for HTTPS only, and accepts mutations from its public origin only", async () => {
    await using secure = await startService({ env: { OSTIARY_PUBLIC_URL: "https://keys.example/" } });
    const signUpFrom = (origin: string) =>
      fetch(`${secure.baseUrl}/trpc/auth.signUp`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({
          json: {
            email: `${crypto.randomUUID()}@example.com`,
            password: "long enough to be one",
            accountName: "A",
          },
        }),
      });
    expect((await signUpFrom(secure.baseUrl)).status).toBe(403);
    const response = await signUpFrom("https://keys.example");
    expect(response.status).toBe(200);
    expect(response.headers.getSetCookie()[0]).toMatch(/^__Host-ostiary_session=.*Secure/i);
    expect(await statusAt("keys.example", "/sign-in", "", secure.baseUrl)).toBe(200);
  });
});
