import { beforeAll, describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { commandOf, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// What Deno's server lets through that Node's refuses.

const service = sharedByFile(() =>
  startService({ command: commandOf("deno"), env: { OSTIARY_LOG: "error" } }),
);
let key: string;

beforeAll(async () => {
  key = (await signUpWithKey(service.baseUrl)).key;
});

describe("a body whose length is declared twice, on Deno", () => {
  const chat = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] });
  const signIn = JSON.stringify({ json: { email: "nobody@example.com", password: "not the password" } });

  it.each([
    ["a request to a model", "/v1/chat/completions", chat, 200],
    ["a stranger's call of a procedure", "/trpc/auth.signIn", signIn, 401],
  ])("is received as one of unknown length: %s", async (_, path, body, status) => {
    using connection = await openRaw(service.baseUrl);
    const length = `content-length: ${body.length}\r\n`;
    const headers = `host: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    connection.send(`POST ${path} HTTP/1.1\r\n${headers}${length}${length}\r\n${body}`);
    expect((await connection.answer()).status).toBe(status);
    // Otherwise no body would be counted any more, and the limits on their bytes would be gone.
    await expect.poll(() => metricOf(service.baseUrl, "ostiary_request_body_bytes")).toBe(0);
  });
});

describe("a client that disconnects while it sends its body, on Deno", () => {
  it.each([
    ["of a declared length", "content-length: 100\r\n\r\n{"],
    ["in chunks", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"],
  ])("is recorded as one that has disconnected: %s", async (_, rest) => {
    const owner = await signUpWithKey(service.baseUrl);
    using connection = await openRaw(service.baseUrl);
    const headers = `host: x\r\nauthorization: Bearer ${owner.key}\r\ncontent-type: application/json\r\n`;
    connection.send(`POST /v1/chat/completions HTTP/1.1\r\n${headers}${rest}`);
    await expect
      .poll(() => metricOf(service.baseUrl, "ostiary_request_body_bytes"), { timeout: 10_000 })
      .toBeGreaterThan(0);
    connection[Symbol.dispose]();
    const entry = async () => (await owner.trpc.audit.list.query()).entries[0];
    await expect.poll(entry).toMatchObject({ status: 499, errorCode: null, endReason: "client_gone" });
  });
});

describe("a client that leaves an export, on Deno", () => {
  it("leaves nothing but an entry: Deno would write the end of the stream to standard error", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const printed = service.stderr();
    for (let exports = 0; exports < 5; exports++) {
      using connection = await openRaw(service.baseUrl);
      connection.send(
        `GET /v1/audit/export HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}\r\n\r\n`,
      );
    }
    const reasons = async () =>
      (await owner.trpc.audit.list.query()).entries.map(({ endReason }) => endReason);
    await expect.poll(reasons).toEqual(Array.from({ length: 5 }, () => "client_gone"));
    expect(service.stderr().slice(printed.length)).not.toContain("Error: ");
  });
});

describe("a request whose target and host are no address, on Deno", () => {
  it.each([
    ["host", (secret: string) => `GET /v1/models?key=${secret} HTTP/1.1\r\nhost: a b@/%zz\r\n\r\n`],
    ["host with a path", (secret: string) => `GET /healthz HTTP/1.1\r\nhost: x/v1/${secret}?\r\n\r\n`],
    [
      "host with a path that only URLs know",
      (secret: string) => `GET / HTTP/1.1\r\nhost: x\\v1\\${secret}#\r\n\r\n`,
    ],
    ["target", (secret: string) => `GET http://[::1/v1/${secret} HTTP/1.1\r\nhost: x\r\n\r\n`],
  ])("is answered 400 in the usual error format, and a key in its URL is not logged: %s", async (_, text) => {
    using connection = await openRaw(service.baseUrl);
    connection.send(text(key));
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(JSON.parse(answer.body).error.code).toBe("invalid_request");
    expect(service.stderr()).not.toContain(key);
  });
});
