import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
/** A key that works: what is wrong below is the header alone. */
let key: string;
let token: string;

beforeAll(async () => {
  const owner = await signUpWithKey(service.baseUrl);
  key = owner.key;
  token = (await owner.trpc.tokens.create.mutate({ name: "script" })).token;
});

/** Sends header lines as they are, byte by byte: no client in between that would mend or refuse them. */
async function answerTo(
  lines: readonly string[],
  path = "/v1/models",
): Promise<{ status: number; text: string }> {
  const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
  const head = [`GET ${path} HTTP/1.1`, "host: x", "connection: close", ...lines, "", ""].join("\r\n");
  socket.write(Buffer.from(head, "latin1"));
  let text = "";
  for await (const part of socket.setEncoding("latin1")) text += part;
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), text };
}

const other = (character: string) => (character === "a" ? "b" : "a");

/** What stands in the header, of a key K that works; `null` for no header at all. */
const MALFORMED: readonly (readonly [name: string, value: (key: string) => string | null])[] = [
  ["no header", () => null],
  ["an empty value", () => ""],
  ["the scheme alone", () => "Bearer"],
  ["the key alone", (k) => k],
  ["the key without its prefix", (k) => `Bearer ${k.slice(3)}`],
  ["another scheme", (k) => `Basic ${k}`],
  ["the scheme of OAuth 1", (k) => `OAuth ${k}`],
  ["Token as scheme", (k) => `Token ${k}`],
  ["basic credentials", (k) => `Basic ${Buffer.from(`${k}:`).toString("base64")}`],
  ["base64 of the key", (k) => `Bearer ${Buffer.from(k).toString("base64")}`],
  ["a scheme in lower case", (k) => `bearer ${k}`],
  ["a scheme in upper case", (k) => `BEARER ${k}`],
  ["a misspelt scheme", (k) => `Barer ${k}`],
  ["a longer scheme", (k) => `Bearers ${k}`],
  ["no space", (k) => `Bearer${k}`],
  ["two spaces", (k) => `Bearer  ${k}`],
  ["three spaces", (k) => `Bearer   ${k}`],
  ["a tab", (k) => `Bearer\t${k}`],
  ["a space and a tab", (k) => `Bearer \t${k}`],
  ["a no-break space", (k) => `Bearer\u00a0${k}`],
  ["a colon", (k) => `Bearer: ${k}`],
  ["an equals sign", (k) => `Bearer=${k}`],
  ["a comma", (k) => `Bearer, ${k}`],
  ["the scheme twice", (k) => `Bearer Bearer ${k}`],
  ["another prefix", (k) => `Bearer pk-${k.slice(3)}`],
  ["a prefix in upper case", (k) => `Bearer SK-${k.slice(3)}`],
  ["a prefix with an underscore", (k) => `Bearer sk_${k.slice(3)}`],
  ["the prefix twice", (k) => `Bearer sk-${k}`],
  ["a vendor's prefix", (k) => `Bearer sk-proj-${k.slice(3)}`],
  ["no suffix", () => "Bearer sk-"],
  ["a short suffix", () => "Bearer sk-abc"],
  ["a key cut short by one", (k) => `Bearer ${k.slice(0, -1)}`],
  ["a key with one more character", (k) => `Bearer ${k}A`],
  ["a key without its first random character", (k) => `Bearer sk-${k.slice(4)}`],
  ["a wrong last character", (k) => `Bearer ${k.slice(0, -1)}${other(k.slice(-1))}`],
  ["a wrong first character", (k) => `Bearer sk-${other(k.charAt(3))}${k.slice(4)}`],
  ["two characters changed about", (k) => `Bearer sk-${k.charAt(4)}${k.charAt(3)}!${k.slice(6)}`],
  ["a key in upper case", (k) => `Bearer sk-${k.slice(3).toUpperCase()}`],
  ["a key in lower case", (k) => `Bearer sk-${k.slice(3).toLowerCase()}`],
  ["a key backwards", (k) => `Bearer sk-${[...k.slice(3)].reverse().join("")}`],
  ["double quotes", (k) => `Bearer "${k}"`],
  ["single quotes", (k) => `Bearer '${k}'`],
  ["angle brackets, from the documentation", (k) => `Bearer <${k}>`],
  ["a placeholder", () => "Bearer <API_KEY>"],
  ["a variable that was not replaced", () => "Bearer $OSTIARY_API_KEY"],
  ["undefined", () => "Bearer undefined"],
  ["null", () => "Bearer null"],
  ["a list", (k) => `Bearer ${k}, Bearer ${k}`],
  ["two keys", (k) => `Bearer ${k} ${k}`],
  ["something behind it", (k) => `Bearer ${k} x`],
  ["a semicolon behind it", (k) => `Bearer ${k};`],
  ["a comma behind it", (k) => `Bearer ${k},`],
  ["a parameter behind it", (k) => `Bearer ${k}; realm="x"`],
  ["something before it", (k) => `x Bearer ${k}`],
  ["percent-encoding", (k) => `Bearer%20${k}`],
  ["an encoded key", (k) => `Bearer sk%2D${k.slice(3)}`],
  ["Latin-1 characters", () => `Bearer sk-${"\u00e9".repeat(49)}`],
  ["bytes of UTF-8", () => `Bearer sk-${Buffer.from("ключ".repeat(6)).toString("latin1")}`],
  ["a made-up key", () => `Bearer sk-${"A".repeat(49)}`],
  ["a very long key", () => `Bearer sk-${"A".repeat(8_000)}`],
  ["SQL", () => "Bearer sk-' or '1'='1"],
  ["a JSON object", (k) => `Bearer {"key":"${k}"}`],
  ["a management token's form", (k) => `Bearer mt-${k.slice(3)}`],
];

describe("a revoked key", () => {
  it("is refused after the account was read again for another of its keys", async () => {
    const { trpc, key: revoked, id } = await signUpWithKey(service.baseUrl);
    const { key: kept } = await trpc.keys.create.mutate({ name: "kept" });
    const statusOfKey = async (each: string) => (await answerTo([`authorization: Bearer ${each}`])).status;
    expect([await statusOfKey(revoked), await statusOfKey(kept)]).toEqual([200, 200]);
    await trpc.keys.revoke.mutate({ id });
    expect([await statusOfKey(kept), await statusOfKey(revoked)]).toEqual([200, 401]);
  });
});

interface WrongRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type?: string;
  readonly body?: string;
}

const TEXT = "text/plain";

/** Requests with something wrong beside their key, and how they are answered with a key that works. */
const WRONG_REQUESTS: readonly WrongRequest[] = [
  { method: "GET", path: "/v1/chat/completions", status: 405 },
  { method: "DELETE", path: "/v1/models", status: 405 },
  { method: "PUT", path: "/v1/keys", status: 405 },
  { method: "PATCH", path: "/v1/responses/resp_1", status: 405 },
  { method: "POST", path: "/v1/chat/completions", status: 415, type: TEXT, body: "x" },
  { method: "POST", path: "/v1/messages", status: 415, type: TEXT, body: "x" },
  { method: "PUT", path: "/trpc/keys.list", status: 405 },
  { method: "HEAD", path: "/trpc/keys.list", status: 405 },
  { method: "POST", path: "/trpc/keys.list", status: 415, type: TEXT, body: "x" },
  { method: "POST", path: "/trpc/keys.list", status: 413, body: "1".repeat(20_000) },
  { method: "POST", path: "/trpc/keys.list", status: 400, body: "[".repeat(16_000) },
];

describe("the refusal of a credential", () => {
  async function statusWith(credential: string | null, { method, path, type, body }: WrongRequest) {
    const headers = {
      "content-type": type ?? "application/json",
      ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
    };
    const init = body === undefined ? { method, headers } : { method, headers, body };
    const response = await fetch(service.baseUrl + path, init);
    await response.arrayBuffer();
    return response.status;
  }

  it.each(WRONG_REQUESTS)("comes before what else is wrong: $method $path, $status", async (wrong) => {
    const owner = await signUpWithKey(service.baseUrl);
    expect(await statusWith(owner.key, wrong)).toBe(wrong.status);
    const { token, id } = await owner.trpc.tokens.create.mutate({ name: "revoked" });
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await owner.trpc.tokens.revoke.mutate({ id });
    for (const credential of [owner.key, token, `${key.slice(0, -1)}!`, "none"]) {
      expect(await statusWith(credential, wrong), credential.slice(0, 3)).toBe(401);
    }
  });

  it.each(WRONG_REQUESTS.filter(({ path }) => path.startsWith("/v1/")))(
    "that is missing comes first, too: $method $path",
    async (wrong) => {
      expect(await statusWith(null, wrong)).toBe(401);
    },
  );

  it("does not come at paths that are not served, and for the methods that a page asks for", async () => {
    for (const credential of [null, "none", key]) {
      const status = await statusWith(credential, { method: "POST", path: "/v1/nothing", status: 404 });
      expect(status).toBe(404);
    }
    expect(await statusWith(null, { method: "OPTIONS", path: "/v1/models", status: 405 })).toBe(405);
  });
});

describe("a request that is being answered", () => {
  it("is completed when its key is revoked, and the next one is refused", async () => {
    const { trpc, key: revoked, id } = await signUpWithKey(service.baseUrl);
    const answers = [true, false].map((stream) =>
      fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${revoked}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "sandbox/echo",
          stream,
          messages: [{ role: "user", content: "sandbox:delay 3000" }],
        }),
      }).then(async (response) => ({ status: response.status, text: await response.text() })),
    );
    await expect.poll(async () => (await trpc.account.limits.query()).used.concurrent).toBe(answers.length);
    await trpc.keys.revoke.mutate({ id });
    expect((await answerTo([`authorization: Bearer ${revoked}`])).status).toBe(401);
    const [stream, whole] = await Promise.all(answers);
    expect(stream).toMatchObject({ status: 200, text: expect.stringContaining("data: [DONE]") });
    expect(whole?.status).toBe(200);
  });
});

describe("an Authorization header that is not exactly `Bearer sk-…`", () => {
  it("is accepted in its exact form, as the control case", async () => {
    expect((await answerTo([`authorization: Bearer ${key}`])).status).toBe(200);
    expect((await answerTo([`AUTHORIZATION: Bearer ${key}`])).status).toBe(200);
    expect(MALFORMED.length).toBeGreaterThan(60);
  });

  it.each(MALFORMED)("is refused with 401: %s", async (_, value) => {
    const header = value(key);
    const { status, text } = await answerTo(header === null ? [] : [`authorization: ${header}`]);
    expect(status).toBe(401);
    expect(text).toMatch(/^www-authenticate: Bearer\r$/im);
    const body = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
    expect(JSON.parse(body).error).toMatchObject({
      code: "invalid_api_key",
      type: "authentication_error",
      param: null,
    });
    // What was sent is not told back: it may be a key with a typo.
    expect(text).not.toContain(key.slice(3, 20));
  });

  it.each([
    ["twice the same", (k: string) => [`authorization: Bearer ${k}`, `authorization: Bearer ${k}`]],
    ["the right one first", (k: string) => [`authorization: Bearer ${k}`, "authorization: Bearer sk-x"]],
    ["the right one last", (k: string) => ["authorization: Basic eDp5", `authorization: Bearer ${k}`]],
    ["in another header", (k: string) => [`x-api-key: ${k}`]],
    ["in the proxy's header", (k: string) => [`proxy-authorization: Bearer ${k}`]],
    ["in a cookie", (k: string) => [`cookie: authorization=Bearer ${k}`]],
  ])("is refused with 401: %s", async (_, lines) => {
    expect((await answerTo(lines(key))).status).toBe(401);
  });

  it("is refused with 401 when the key is in the URL", async () => {
    expect(
      (await answerTo([], `/v1/models?api_key=${key}&key=${key}&authorization=Bearer%20${key}`)).status,
    ).toBe(401);
  });

  it("is refused with 401 when it contains a management token, except for the audit log", async () => {
    const told = await answerTo([`authorization: Bearer ${token}`]);
    expect(told.status).toBe(401);
    expect(told.text).toContain("This is a management token. Send an API key.");
    expect(told.text).not.toContain(token.slice(3, 20));
    expect((await answerTo([`authorization: Bearer ${token}`], "/v1/audit")).status).toBe(200);
    const made = `mt-${"A".repeat(49)}`;
    const refused = await answerTo([`authorization: Bearer ${made}`], "/v1/audit");
    expect(refused.status).toBe(401);
    expect(refused.text).toContain("invalid_management_token");
  });

  it.each(MALFORMED)("is refused by procedures as well: %s", async (_, value) => {
    const header = value(key);
    const { status } = await answerTo(header === null ? [] : [`authorization: ${header}`], "/trpc/keys.list");
    expect(status).toBe(401);
  });
});
