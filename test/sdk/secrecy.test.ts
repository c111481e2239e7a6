import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import Ostiary, { APIConnectionError, type ClientOptions, OstiaryError } from "../../sdk/src/index.ts";
import { loopback } from "./loopback.ts";

const KEY = "sk-0123456789012345678901234567890123456789012345678";
const SECRET = KEY.slice(3);

const refused = (options: ClientOptions): unknown => {
  try {
    return new Ostiary(options);
  } catch (error) {
    return error;
  }
};

/** Everything that a logger might make of it, causes and hidden properties included. */
const printed = (thing: unknown) =>
  [inspect(thing, { depth: 20, showHidden: true }), JSON.stringify(thing), String(thing)].join("\n");

describe("a key that is not a valid header value", () => {
  it.each([
    ["a line end", `${KEY}\n${KEY}`],
    ["a space", `${KEY} ${KEY}`],
    ["a character beyond ASCII", `${KEY}\u2026`],
    ["a zero byte", `${KEY}\0`],
  ])("is refused at once and not quoted: %s", (_, apiKey) => {
    const error = refused({ apiKey });
    expect(error).toBeInstanceOf(OstiaryError);
    expect(printed(error)).not.toContain(SECRET);
  });
});

describe("a key in the wrong place", () => {
  it.each([KEY, `https://user:${KEY}@service.example`, `https://service.example/?key=${KEY}`])(
    "is not quoted when the base URL is refused",
    (baseURL) => {
      const error = refused({ apiKey: "sk-other", baseURL });
      expect(error).toBeInstanceOf(OstiaryError);
      expect(printed(error)).not.toContain(SECRET);
    },
  );
});

describe("an API key in use", () => {
  it("is in no connection error or its causes", async () => {
    await using server = await loopback((request) => request.socket.destroy());
    const client = new Ostiary({ apiKey: KEY, baseURL: server.url, maxRetries: 0 });
    const error = await client.models.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(printed(error)).not.toContain(SECRET);
    expect(printed(client)).not.toContain(SECRET);
  });

  it("is in no stream, page or answer", async () => {
    const body = { object: "list", data: [], has_more: false, next_cursor: null };
    const client = new Ostiary({ apiKey: KEY, fetch: async () => Response.json(body) });
    const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
    for (const thing of [stream, await client.audit.list(), await client.models.retrieve("m"), client]) {
      expect(printed(thing)).not.toContain(SECRET);
    }
  });

  it("is the only one sent, whatever the headers contain and however they are written", async () => {
    const sent: (string | undefined)[] = [];
    await using server = await loopback((request, response) => {
      sent.push(request.headers.authorization);
      response.end('{"object":"list","data":[]}');
    });
    const defaultHeaders = { Authorization: "Bearer sk-default" };
    const client = new Ostiary({ apiKey: KEY, baseURL: server.url, defaultHeaders });
    await client.models.list({ headers: { AUTHORIZATION: "Bearer sk-request" } });
    expect(sent).toEqual([`Bearer ${KEY}`]);
  });

  it("is not sent along with a redirect", async () => {
    let elsewhere = 0;
    await using other = await loopback((_, response) => {
      elsewhere++;
      response.end("{}");
    });
    await using server = await loopback((_, response) => {
      response.writeHead(307, { location: other.url }).end();
    });
    const client = new Ostiary({ apiKey: KEY, baseURL: server.url });
    await expect(client.models.list()).rejects.toMatchObject({ name: "APIError", status: 307 });
    expect(elsewhere).toBe(0);
  });
});

describe("an error as JSON and as it is printed, as logs write it", () => {
  it("has its message and what tells errors apart, and no headers", async () => {
    const headers = { "x-request-id": "req_1", "set-cookie": "session=secret" };
    const refusal = { error: { message: "no such key", type: "t", param: null, code: "invalid_api_key" } };
    const fetch = async () => Response.json(refusal, { status: 401, headers });
    const error = await new Ostiary({ apiKey: KEY, fetch }).models.list().catch((thrown: unknown) => thrown);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "AuthenticationError",
      message: "no such key",
      status: 401,
      code: "invalid_api_key",
      type: "t",
      param: null,
      requestId: "req_1",
    });
    expect(inspect(error)).toMatch(/no such key[\s\S]*invalid_api_key[\s\S]*req_1/);
    expect(inspect(error)).not.toContain("session=");
    expect(JSON.parse(JSON.stringify(refused({ apiKey: "" })))).toEqual({
      name: "OstiaryError",
      message: expect.stringContaining("is empty"),
    });
  });
});
