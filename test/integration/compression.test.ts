import { request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { insertEntries } from "../fixtures/entries.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let owner: Owner & { readonly key: string };
let token: string;

beforeAll(async () => {
  owner = await signUpWithKey(service.baseUrl);
  token = (await owner.trpc.tokens.create.mutate({ name: "reader" })).token;
  await insertEntries(service, owner, 500);
});

interface Raw {
  readonly status: number;
  readonly coding: string | undefined;
  readonly vary: string | undefined;
  readonly bytes: Buffer;
}

/** The answer as it is on the wire: `fetch` would decompress it. */
function raw(path: string, accepted: string | null, body?: unknown): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, service.baseUrl),
      {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${token}`,
          ...(accepted === null ? {} : { "accept-encoding": accepted }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
      },
      async (response) => {
        const pieces: Buffer[] = [];
        for await (const piece of response) pieces.push(piece);
        const { "content-encoding": coding, vary } = response.headers;
        resolve({ status: response.statusCode ?? 0, coding, vary, bytes: Buffer.concat(pieces) });
      },
    );
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const LIST = `/trpc/audit.list?input=${encodeURIComponent(JSON.stringify({ json: { limit: 500 } }))}`;

describe("answers to queries", () => {
  it.each([LIST, "/v1/audit?limit=500"])("are compressed as the client accepts: %s", async (path) => {
    const plain = await raw(path, null);
    expect([plain.status, plain.coding]).toEqual([200, undefined]);
    expect(plain.bytes.length).toBeGreaterThan(150_000);
    const text = JSON.parse(plain.bytes.toString());
    const gzip = await raw(path, "gzip");
    expect([gzip.coding, JSON.parse(gunzipSync(gzip.bytes).toString())]).toEqual(["gzip", text]);
    const br = await raw(path, "gzip, deflate, br, zstd");
    expect([br.coding, JSON.parse(brotliDecompressSync(br.bytes).toString())]).toEqual(["br", text]);
    for (const { bytes } of [gzip, br]) expect(bytes.length).toBeLessThan(plain.bytes.length / 8);
    // Caches must tell them apart.
    for (const { vary } of [plain, gzip, br]) expect(vary?.toLowerCase()).toContain("accept-encoding");
    expect((await raw(path, "br;q=0, identity")).coding).toBeUndefined();
  });

  it("are sent as they are when they are short", async () => {
    const { coding, bytes } = await raw("/trpc/account.limits", "br, gzip");
    expect([coding, bytes.length < 1_024]).toEqual([undefined, true]);
  });

  it("are compressed in a batch of queries, also when they are sent with POST", async () => {
    const names = "keys.list,audit.list,models.list";
    const batch = `/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify({ 1: { json: { limit: 100 } } }))}`;
    expect((await raw(batch, "br")).coding).toBe("br");
    expect((await raw("/trpc/audit.list", "gzip", { json: { limit: 500 } })).coding).toBe("gzip");
  });

  it("are whole however many are asked for at once", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => raw("/v1/audit?limit=500", "br")));
    for (const { coding, bytes } of answers) {
      const text = (coding === "br" ? brotliDecompressSync(bytes) : bytes).toString();
      expect(JSON.parse(text).data).toHaveLength(500);
    }
    // Beyond what is compressed at once, answers are not kept waiting.
    expect(answers.some(({ coding }) => coding === "br")).toBe(true);
  });
});

describe("answers that must not be compressed", () => {
  it("are those with a secret that is shown once, whose length would tell of it", async () => {
    // Long enough that anything else of this length would be compressed.
    const name = (index: number) => ({ json: { name: `key ${index} ${"long ".repeat(8)}`.trim() } });
    const inputs = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [index, name(index)]));
    const path = `/trpc/${Array.from({ length: 10 }, () => "keys.create").join(",")}?batch=1`;
    const created = await raw(path, "br, gzip", inputs);
    expect([created.status, created.coding]).toEqual([200, undefined]);
    expect(created.bytes.length).toBeGreaterThan(1_024);
    const mixed = `/trpc/keys.create,audit.list?batch=1`;
    expect((await raw(mixed, "br, gzip", { 0: name(99) })).coding).toBeUndefined();
    expect((await raw("/v1/keys", "br, gzip", { name: "by REST" })).coding).toBeUndefined();
  });

  it("are events, which must not wait for each other", async () => {
    const head = await new Promise<string | undefined>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "text/event-stream",
        "accept-encoding": "br, gzip",
      };
      const sent = request(new URL("/trpc/audit.tail", service.baseUrl), { headers }, (response) => {
        expect(response.headers["content-type"]).toContain("text/event-stream");
        resolve(response.headers["content-encoding"]);
        sent.destroy();
      });
      sent.on("error", reject).end();
    });
    expect(head).toBeUndefined();
  });
});
