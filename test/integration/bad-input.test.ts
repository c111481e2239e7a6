import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const MAX_BODY_BYTES = 65_536;
const service = sharedByFile(() => startService({ env: { OSTIARY_MAX_BODY_BYTES: String(MAX_BODY_BYTES) } }));
let key: string;

beforeAll(async () => {
  key = (await signUpWithKey(service.baseUrl)).key;
});

const messages = [{ role: "user", content: "hi" }];

interface BadRequest {
  readonly name: string;
  readonly method?: string;
  readonly path?: string;
  readonly type?: string | null;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly code: string;
  readonly param?: string;
  readonly message?: string;
}

const json = (value: unknown) => JSON.stringify(value);

const badRequests: readonly BadRequest[] = [
  { name: "malformed JSON", body: "{", status: 400, code: "invalid_json" },
  { name: "an empty body", body: "", status: 400, code: "invalid_json" },
  { name: "broken UTF-8", body: new Uint8Array([0x22, 0xff, 0x22]), status: 400, code: "invalid_json" },
  { name: "JSON that is no object", body: "[]", status: 400, code: "invalid_request" },
  {
    name: "a body nested too deep",
    body: `{"a":${"[".repeat(20_000)}`,
    status: 400,
    code: "invalid_request",
  },
  { name: "no model", body: json({ messages }), status: 400, code: "invalid_request", param: "model" },
  {
    name: "a model that is no string",
    body: json({ model: 7, messages }),
    status: 400,
    code: "invalid_request",
    param: "model",
  },
  {
    name: "no messages",
    body: json({ model: "sandbox/echo" }),
    status: 400,
    code: "invalid_request",
    param: "messages",
  },
  {
    name: "empty messages",
    body: json({ model: "sandbox/echo", messages: [] }),
    status: 400,
    code: "invalid_request",
    param: "messages",
  },
  {
    name: "a message without a role",
    body: json({ model: "sandbox/echo", messages: [{ content: "hi" }] }),
    status: 400,
    code: "invalid_request",
    param: "messages.0.role",
  },
  {
    name: "a stream that is no boolean",
    body: json({ model: "sandbox/echo", messages, stream: "yes" }),
    status: 400,
    code: "invalid_request",
    param: "stream",
  },
  {
    name: "a tool choice that is none",
    body: json({ model: "sandbox/echo", messages, tool_choice: 5 }),
    status: 400,
    code: "invalid_request",
    param: "tool_choice",
    message: "tool_choice: must be a text, or an object with a type",
  },
  {
    name: "a stop sequence that is none",
    body: json({ model: "sandbox/echo", messages, stop: { a: 1 } }),
    status: 400,
    code: "invalid_request",
    param: "stop",
    message: "stop: must be a text, or an array of texts",
  },
  {
    name: "more stop sequences than the sandbox takes",
    body: json({ model: "sandbox/echo", messages, stop: ["1", "2", "3", "4", "5"] }),
    status: 400,
    code: "invalid_request",
    param: "stop",
    message: "stop: must be a text, or an array of up to 4 texts, for sandbox models",
  },
  {
    name: "a temperature that is too high",
    body: json({ model: "sandbox/echo", messages, temperature: 3 }),
    status: 400,
    code: "invalid_request",
    param: "temperature",
    message: "temperature: must be at most 2",
  },
  {
    name: "a broken number of tokens",
    body: json({ model: "sandbox/echo", messages, max_tokens: 1.5 }),
    status: 400,
    code: "invalid_request",
    param: "max_tokens",
    message: "max_tokens: must be a whole number",
  },
  {
    name: "an unknown encoding",
    path: "/v1/embeddings",
    body: json({ model: "sandbox/embedding", input: "hi", encoding_format: "hex" }),
    status: 400,
    code: "invalid_request",
    param: "encoding_format",
    message: "encoding_format: must be one of float, base64",
  },
  {
    name: "a chat with a sandbox model for embeddings",
    body: json({ model: "sandbox/embedding", messages }),
    status: 400,
    code: "invalid_request",
    param: "model",
    message: "model: does not chat. The sandbox models that do are echo, lorem, reasoning",
  },
  {
    name: "embeddings by a sandbox model for chats",
    path: "/v1/embeddings",
    body: json({ model: "sandbox/echo", input: "hi" }),
    status: 400,
    code: "invalid_request",
    param: "model",
    message: "model: does not embed. The sandbox model that does is embedding",
  },
  {
    name: "an unknown model",
    body: json({ model: "gpt-9", messages }),
    status: 404,
    code: "model_not_found",
    param: "model",
  },
  {
    name: "a model's name that no log could hold",
    body: json({ model: "a\u0000b\ud800", messages }),
    status: 404,
    code: "model_not_found",
    param: "model",
  },
  {
    name: "another content type",
    type: "text/plain",
    body: "hi",
    status: 415,
    code: "unsupported_media_type",
  },
  {
    name: "no content type",
    type: null,
    body: json({ model: "sandbox/echo", messages }),
    status: 415,
    code: "unsupported_media_type",
  },
  {
    name: "a compressed body",
    headers: { "content-encoding": "gzip" },
    body: json({ model: "sandbox/echo", messages }),
    status: 415,
    code: "unsupported_media_type",
  },
  {
    name: "a body that is too large",
    body: "x".repeat(MAX_BODY_BYTES + 1),
    status: 413,
    code: "request_too_large",
  },
  {
    name: "a body that is far too large",
    body: "x".repeat(4_000_000),
    status: 413,
    code: "request_too_large",
  },
  { name: "an unknown path", path: "/v1/nothing", body: "{}", status: 404, code: "not_found" },
  { name: "the bare prefix", path: "/v1", method: "GET", status: 404, code: "not_found" },
  { name: "broken percent-encoding", path: "/v1/models/%zz", method: "GET", status: 404, code: "not_found" },
  {
    name: "an unknown model's id",
    path: "/v1/models/no/such",
    method: "GET",
    status: 404,
    code: "model_not_found",
  },
  { name: "a wrong method", method: "DELETE", status: 405, code: "method_not_allowed" },
  {
    name: "a wrong method for models",
    method: "POST",
    path: "/v1/models",
    body: "{}",
    status: 405,
    code: "method_not_allowed",
  },
  {
    name: "a broken cursor",
    path: "/v1/audit?cursor=x",
    method: "GET",
    status: 400,
    code: "invalid_request",
    param: "cursor",
  },
  {
    name: "an empty filter",
    path: "/v1/audit?model=",
    method: "GET",
    status: 400,
    code: "invalid_request",
    param: "model",
    message: "model: must not be empty",
  },
  {
    name: "a limit that is too high",
    path: "/v1/audit?limit=9999",
    method: "GET",
    status: 400,
    code: "invalid_request",
    param: "limit",
  },
];

describe("a bad request", () => {
  it.each(badRequests)("with $name is answered $status $code", async (bad) => {
    const method = bad.method ?? "POST";
    const type = bad.type === undefined ? "application/json" : bad.type;
    // Bytes have no type of their own: what fetch would add for a string must not get in the way.
    const body = typeof bad.body === "string" ? new TextEncoder().encode(bad.body) : bad.body;
    const response = await fetch(`${service.baseUrl}${bad.path ?? "/v1/chat/completions"}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(type === null ? {} : { "content-type": type }),
        ...bad.headers,
      },
      ...(body === undefined || method === "GET" ? {} : { body }),
    });
    expect(response.status).toBe(bad.status);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    const { error } = await response.json();
    expect(error).toEqual({
      code: bad.code,
      type: "invalid_request_error",
      param: bad.param ?? null,
      message: bad.message ?? expect.stringMatching(/\S.{10,}/),
    });
    if (bad.status === 405) expect(response.headers.get("allow")).toMatch(/GET|POST/);
  });

  it("never prevents the service from recording later requests", async () => {
    const response = await fetch(`${service.baseUrl}/v1/audit?limit=1000`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data } = await response.json();
    expect(data.length).toBeGreaterThan(10);
    expect(data.every((entry: { status: number }) => entry.status < 500)).toBe(true);
  });
});

describe("a seed", () => {
  it.each([
    ["9223372036854775807", 200],
    ["-9223372036854775808", 200],
    ["1.5", 400],
    ["1e300", 400],
  ])("of %s is answered %i", async (seed, status) => {
    const answer = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: `{"model":"sandbox/echo","messages":${json(messages)},"seed":${seed}}`,
    });
    expect(answer.status).toBe(status);
    if (status !== 400) return;
    const { error } = await answer.json();
    expect(error).toMatchObject({ param: "seed", message: "seed: must be a whole number of 64 bits" });
  });
});

describe("the connection", () => {
  it.skipIf(RUNTIME === "deno")(
    "is still usable after every refusal, including an oversized body",
    async () => {
      const { port } = new URL(service.baseUrl);
      const socket = connect(Number(port), "127.0.0.1");
      let received = "";
      socket.setEncoding("utf8").on("data", (text) => {
        received += text;
      });
      const answers = async (count: number) => {
        while ((received.match(/HTTP\/1\.1 \d{3}/g) ?? []).length < count) {
          await new Promise((resolve, reject) =>
            socket.once("data", resolve).once("close", () => reject(new Error("closed"))),
          );
        }
      };
      const post = (body: string, type = "application/json") =>
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      post("{");
      await answers(1);
      post("x".repeat(MAX_BODY_BYTES * 4));
      await answers(2);
      post("hi", "text/plain");
      await answers(3);
      post(json({ model: "sandbox/echo", messages }));
      await answers(4);
      socket.destroy();
      expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual([
        "HTTP/1.1 400",
        "HTTP/1.1 413",
        "HTTP/1.1 415",
        "HTTP/1.1 200",
      ]);
    },
  );
});
