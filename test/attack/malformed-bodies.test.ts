import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(() => startService({ env: { OSTIARY_LOG: "silent" } }));
let owner: Owner & { readonly key: string };

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
});

interface Entry {
  readonly request_id: string;
  readonly status: number;
  readonly error_code: string | null;
  readonly end_reason: string;
}

async function entriesOf(endpoint: string, key = owner.key): Promise<readonly Entry[]> {
  const response = await fetch(`${service.baseUrl}/v1/audit?limit=1000`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { data } = (await response.json()) as { readonly data: (Entry & { readonly endpoint: string })[] };
  return data.filter((entry) => entry.endpoint === endpoint);
}

// On Deno the runtime answers malformed HTTP itself.
describe.skipIf(RUNTIME === "deno")("a request whose body is malformed HTTP", () => {
  it.each([
    ["POST", "/v1/chat/completions", "in its first chunk", "zz\r\n"],
    ["POST", "/v1/embeddings", "after its first chunk", '2\r\n{"\r\nzz\r\n'],
    ["POST", "/v1/keys", "of an operation that manages the account", "zz\r\n"],
  ])("is logged as it is answered: %s %s, %s", async (method, path, _, chunks) => {
    using connection = await openRaw(service.baseUrl);
    const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}\r\n`;
    connection.send(`${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
    const answer = await connection.answer();
    const sentMs = performance.now();
    expect(answer.headers.get("connection")).toBe("close");
    await connection.closed;
    expect(performance.now() - sentMs).toBeLessThan(5_000);
    const { code, message } = JSON.parse(answer.body).error;
    const entries = await entriesOf(`${method} ${path}`);
    const own = entries.filter(({ request_id }) => request_id === answer.headers.get("x-request-id"));
    expect(own).toMatchObject([{ status: answer.status, error_code: code, end_reason: "refused" }]);
    expect([answer.status, code]).toEqual([400, "invalid_request"]);
    expect(message).toContain("not valid HTTP/1.1");
  });

  it("is refused for its key first", async () => {
    using connection = await openRaw(service.baseUrl);
    const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    connection.send(`${head}transfer-encoding: chunked\r\n\r\nzz\r\n`);
    expect((await connection.answer()).status).toBe(401);
    await connection.closed;
  });

  it("that its client does not end counts as left, also if the client only closes its side", async () => {
    // An account of its own, without the entry of another attempt of this test.
    const { key } = await signUpWithKey(service.baseUrl);
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
    socket.end(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`);
    let received = "";
    for await (const piece of socket) received += String(piece);
    expect(received).toBe("");
    await expect
      .poll(() => entriesOf("POST /v1/messages", key))
      .toMatchObject([{ status: 499, error_code: null, end_reason: "client_gone" }]);
  });
});
