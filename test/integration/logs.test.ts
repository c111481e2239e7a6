import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { OPERATOR_ENV } from "../fixtures/operator.ts";
import { logLines, RUNTIME, type Service, type ServiceOptions, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** It could be a URL. A log shows where a URL leads. */
const PASSWORD = "secret://that-no-log/shows";

/** Its log at the level `info`, if the test does not say otherwise. */
function start(options: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, env: { OSTIARY_LOG: "info", ...options.env } });
}

function chat(service: Service, key: string, query = "", model = "sandbox/echo"): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/chat/completions${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "a secret prompt" }] }),
  });
}

describe("the log", () => {
  it("has only lines of JSON, with levels as words and times in ISO 8601", async () => {
    const service = await start();
    await service.stop();
    await service[Symbol.asyncDispose]();
    expect(service.stdout()).toBe("");
    const lines = logLines(service.stderr());
    expect(lines.length).toBe(service.stderr().trim().split("\n").length);
    for (const { level, time } of lines) {
      expect(["info", "warn"]).toContain(level);
      expect(time).toMatch(ISO_TIME);
    }
  });

  it("tells the start with version and settings, the address, the drain and the stop, in this order", async () => {
    await using service = await start();
    await service.stop();
    const lines = logLines(service.stderr());
    const of = (msg: string) => lines.find((line) => line.msg === msg);
    const life = ["starting", "ready", "stopping", "draining", "stopped"];
    expect(lines.map(({ msg }) => msg).filter((msg) => life.includes(msg ?? ""))).toEqual(life);
    expect(of("starting")).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runtime: expect.stringMatching(/^(node|deno) \d/),
      settings: {
        OSTIARY_DATA_DIR: service.dataDir,
        OSTIARY_MAX_BODY_BYTES: 20_971_520,
        OSTIARY_LOG: "info",
      },
    });
    expect(of("ready")).toMatchObject({
      listensOn: service.baseUrl,
      database: expect.stringContaining("PostgreSQL"),
    });
    expect(of("draining")).toMatchObject({ requestsInFlight: 0, drainS: 30 });
  });

  it("has the reason of an upstream's failure in one line, also where OpenSSL's ends with a line break", async () => {
    await using withoutTls = await startModelServer(() => {});
    const catalog = await writeCatalog({
      upstreams: {
        acme: {
          dialect: "openai",
          baseUrl: withoutTls.baseUrl.replace("http:", "https:"),
          breaker: { failures: 1_000 },
        },
      },
      models: [{ id: "acme/chat", routes: [{ upstream: "acme", model: "inner" }] }],
    });
    await using service = await start({ env: { OSTIARY_CATALOG: catalog.file } });
    const { key } = await signUpWithKey(service.baseUrl);
    for (let count = 0; count < 30; count++)
      expect((await chat(service, key, "", "acme/chat")).status).toBe(502);
    await service.stop();
    const failed = logLines(service.stderr()).filter(({ msg }) => msg === "a request failed");
    expect(failed[0]?.reason).toMatch(/^the upstream.+[^\s.:]$/);
    // Further ones are counted.
    expect(failed).toHaveLength(20);
  });

  it("has no secret of the settings", async () => {
    const secrets = {
      OSTIARY_OPERATOR_EMAIL: OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL,
      OSTIARY_OPERATOR_PASSWORD: PASSWORD,
      OSTIARY_RESPONSES_KEY: "ab".repeat(32),
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:hunter2@127.0.0.1:9/?token=hunter3",
    };
    await using service = await start({ env: secrets });
    const [starting] = logLines(service.stderr());
    expect(starting?.settings).toMatchObject({
      OSTIARY_OPERATOR_PASSWORD: "(set)",
      OSTIARY_RESPONSES_KEY: "(set)",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9/",
    });
    for (const secret of [PASSWORD, "abab", "hunter", Buffer.alloc(32, 0xab).toString("base64")])
      expect(service.stderr()).not.toContain(secret);
  });

  it("tells a reload of the catalog", async () => {
    await using catalog = await writeCatalog({
      upstreams: { main: { dialect: "openai", baseUrl: "http://127.0.0.1:9" } },
      models: [{ id: "acme/chat", routes: [{ upstream: "main", model: "inner" }] }],
    });
    await using service = await start({ env: { OSTIARY_CATALOG: catalog.file } });
    const told = () => logLines(service.stderr()).filter(({ msg }) => msg === "reloaded the catalog");
    await appendFile(catalog.file, "\n# a comment\n");
    process.kill(service.pid, "SIGHUP");
    await expect.poll(told, { timeout: 20_000 }).toMatchObject([{ level: "info", models: 1 }]);
  });
});

describe("the access log", () => {
  const requestLines = (service: Service) =>
    logLines(service.stderr()).filter(({ msg }) => msg === "request");

  it("is off by default", async () => {
    await using service = await start();
    await (await fetch(`${service.baseUrl}/healthz`)).text();
    expect(requestLines(service)).toEqual([]);
  });

  it("has one line for each request, whatever the level of the log, and no secret", async () => {
    await using service = await start({ env: { OSTIARY_ACCESS_LOG: "1", OSTIARY_LOG: "info" } });
    const { key } = await signUpWithKey(service.baseUrl);
    const before = requestLines(service).length;
    const answered = await chat(service, key, "?api_key=in-the-query");
    await answered.text();
    await (await chat(service, "sk-unknown")).text();
    await (await fetch(`${service.baseUrl}/v1/models/${key}`)).text();
    // A browser or a client may percent-encode any character of a key.
    await (await fetch(`${service.baseUrl}/v1/models/${key.replace("s", "%73")}`)).text();
    await (await fetch(`${service.baseUrl}/keys/${key.replace("s", "%73")}`)).text();
    await (await fetch(`${service.baseUrl}/readyz?password=in-the-query`)).text();
    await expect.poll(() => requestLines(service).length).toBe(before + 6);
    const [chatted, refused, , , , readyz] = requestLines(service).slice(before);
    expect(chatted).toMatchObject({
      level: "info",
      requestId: answered.headers.get("x-request-id"),
      method: "POST",
      path: "/v1/chat/completions",
      status: 200,
      durationMs: expect.any(Number),
      clientAddress: "127.0.0.1",
      accountId: expect.any(String),
      keyId: key.slice(-4),
      model: "sandbox/echo",
      clientGone: false,
    });
    expect(refused).toMatchObject({ path: "/v1/chat/completions", status: 401 });
    expect(refused).not.toHaveProperty("keyId");
    expect(readyz).toMatchObject({ method: "GET", path: "/readyz", status: 200 });
    for (const secret of [key.slice("sk-".length), "in-the-query", "a secret prompt"])
      expect(service.stderr()).not.toContain(secret);
  });

  // On Deno the body's failure is known, and answered, before the client is known to be gone.
  it.skipIf(RUNTIME === "deno")("tells that a client disconnected before it was answered", async () => {
    await using service = await start({ env: { OSTIARY_ACCESS_LOG: "1" } });
    const { key } = await signUpWithKey(service.baseUrl);
    const { hostname, port } = new URL(service.baseUrl);
    const client = connect(Number(port), hostname);
    await once(client, "connect");
    const head = ["POST /v1/chat/completions HTTP/1.1", "host: x", `authorization: Bearer ${key}`];
    client.write([...head, "content-type: application/json", "content-length: 100", "", "{"].join("\r\n"));
    await expect.poll(() => metricOf(service.baseUrl, "ostiary_requests_in_flight")).toBe(1);
    client.destroy();
    await expect
      .poll(() => requestLines(service).filter(({ path }) => path === "/v1/chat/completions"))
      .toMatchObject([{ clientGone: true }]);
  });
});
