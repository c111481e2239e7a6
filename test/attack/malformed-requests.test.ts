import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

// What becomes of requests that are not quite HTTP. Deno's server refuses them by itself.

const service = sharedByFile(() => startService({ env: { OSTIARY_LOG: "silent" } }));
let owner: Owner & { readonly key: string };

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
});

const REQUEST_ID = /^req_[0-9a-f]{32}$/;
const SECRET = "sk-neverRepeatThisKeyWhateverHappensToTheRequest000";

/** The status of a valid request. */
async function statusOfModels(): Promise<number> {
  const response = await fetch(`${service.baseUrl}/v1/models`, {
    headers: { authorization: `Bearer ${owner.key}` },
  });
  await response.arrayBuffer();
  return response.status;
}

describe.skipIf(RUNTIME === "deno")("a malformed request", () => {
  const chat = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n";
  const unreadable: readonly { name: string; text: string; status: number; code: string }[] = [
    {
      name: "a control character in a header",
      text: `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${SECRET}\0\r\n\r\n`,
      status: 400,
      code: "invalid_request",
    },
    { name: "no HTTP at all", text: `${SECRET}\r\n\r\n`, status: 400, code: "invalid_request" },
    { name: "no host", text: "GET /v1/models HTTP/1.1\r\n\r\n", status: 400, code: "invalid_request" },
    {
      name: "two hosts",
      text: "GET /v1/models HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
      status: 400,
      code: "invalid_request",
    },
    {
      name: "headers that are too large",
      text: `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-much: ${SECRET.repeat(500)}\r\n\r\n`,
      status: 431,
      code: "headers_too_large",
    },
    {
      name: "a line that is too long",
      text: `GET /v1/models?${"x".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      status: 431,
      code: "headers_too_large",
    },
    {
      name: "an expectation that nobody meets",
      text: `GET /v1/models HTTP/1.1\r\nhost: x\r\nexpect: ${SECRET}\r\n\r\n`,
      status: 417,
      code: "expectation_failed",
    },
    {
      name: "two lengths",
      text: `${chat}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
      code: "invalid_request",
    },
    {
      name: "a length that is none",
      text: `${chat}content-length: x\r\n\r\n`,
      status: 400,
      code: "invalid_request",
    },
    {
      name: "a host that is none",
      text: `GET /healthz HTTP/1.1\r\nhost: a b@${SECRET}/%zz\r\n\r\n`,
      status: 400,
      code: "invalid_request",
    },
    {
      name: "the whole service as its target",
      text: "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
      status: 400,
      code: "invalid_request",
    },
    {
      name: "a target that is no path",
      text: `GET /docs\\${SECRET} HTTP/1.1\r\nhost: x\r\n\r\n`,
      status: 400,
      code: "invalid_request",
    },
    {
      name: "a tunnel",
      text: "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n",
      status: 405,
      code: "method_not_allowed",
    },
  ];

  it.each(unreadable)(
    "for $name is answered $status in the usual error format",
    async ({ text, status, code }) => {
      using connection = await openRaw(service.baseUrl);
      connection.send(text);
      const answer = await connection.answer();
      expect(answer.status).toBe(status);
      expect(answer.headers.get("x-request-id")).toMatch(REQUEST_ID);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(JSON.parse(answer.body).error).toEqual({
        code,
        type: "invalid_request_error",
        param: null,
        message: expect.stringMatching(/\S.{10,}/),
      });
      expect(await connection.closed).not.toContain(SECRET.slice(3));
    },
  );

  it("with an invalid body breaks off only itself", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(
      `${chat}authorization: Bearer ${owner.key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
    );
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.headers.get("x-request-id")).toMatch(REQUEST_ID);
    expect(await statusOfModels()).toBe(200);
  });

  it("for a tunnel does not end the service when its client resets the connection", async () => {
    const { hostname, port } = new URL(service.baseUrl);
    for (let sent = 0; sent < 20; sent++) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n");
      await setImmediate();
      socket.resetAndDestroy();
    }
    expect(await statusOfModels()).toBe(200);
  });

  it.each([
    ["no HTTP", "\0\0\r\n\r\n"],
    ["a head that is too long", `GET / HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(20_000)}\r\n\r\n`],
  ])("after valid ones does not disturb the valid ones' answers: %s", async (_, refused) => {
    using connection = await openRaw(service.baseUrl);
    const body = '{"model":"sandbox/echo","stream":true,"messages":[{"role":"user","content":"hi"}]}';
    const head = `${chat}authorization: Bearer ${owner.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    connection.send(`${head}${body}${head}${body}${refused}`);
    const received = await connection.closed;
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(received.match(/data: \[DONE\]\n\n\r\n0\r\n\r\n/g)).toHaveLength(2);
  });
});

describe.skipIf(RUNTIME === "deno")("a request with more headers than are read", () => {
  const authorization = () => `authorization: Bearer ${owner.key}\r\n`;
  // As short as they can be: the bytes of all headers are limited, too.
  const many = (count: number) => "a:\r\n".repeat(count);

  it.each([1_000, 3_000])("is refused, whatever the first and the last of %i are", async (count) => {
    for (const headers of [
      `${authorization()}${many(count)}`,
      `${many(count)}${authorization()}`,
      `${authorization()}${many(count)}${authorization()}`,
    ]) {
      using connection = await openRaw(service.baseUrl);
      connection.send(`GET /v1/models HTTP/1.1\r\nhost: x\r\n${headers}\r\n`);
      const { status, body } = await connection.answer();
      expect([status, JSON.parse(body).error.code]).toEqual([431, "headers_too_large"]);
    }
  });

  it("is answered with as many as it may have", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(`HEAD /v1/models HTTP/1.1\r\nhost: x\r\n${many(900)}${authorization()}\r\n`);
    expect((await connection.answer("HEAD")).status).toBe(200);
  });
});
