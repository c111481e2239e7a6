import { type IncomingHttpHeaders, request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";

const service = sharedByFile(startService);
/** The largest script of the page, and its style sheet. */
let script: string;
let style: string;

beforeAll(async () => {
  const page = (await get("/")).body.toString();
  script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
  style = /href="(\/assets\/[^"]+\.css)"/.exec(page)?.[1] ?? "";
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As it came, compressed or not. */
  readonly body: Buffer;
}

/** Sends these headers and no others; `fetch` would ask for codings by itself, and undo them. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(service.baseUrl + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          const { statusCode = 0, headers: received } = response;
          resolve({ status: statusCode, headers: received, body: Buffer.concat(chunks) });
        });
    })
      .on("error", reject)
      .end();
  });
}

const BROWSER = { "accept-encoding": "gzip, deflate, br, zstd" };

describe("a file of the dashboard", () => {
  it("is served in the client's preferred encoding, with the same content each time", async () => {
    const asked: readonly (readonly [string | null, string | undefined])[] = [
      [null, undefined],
      ["", undefined],
      ["identity", undefined],
      ["deflate, zstd", undefined],
      ["gzip, deflate, br, zstd", "br"],
      ["br", "br"],
      ["BR", "br"],
      ["gzip", "gzip"],
      ["*", "br"],
      ["gzip;q=1.0, br;q=0.5", "gzip"],
      ["br;q=0, gzip;q=0.1", "gzip"],
      ["br;q=0, *;q=0.5", "gzip"],
      ["br;q=0, gzip;q=0", undefined],
      ["identity;q=1, br;q=0.5, gzip;q=0.2", undefined],
      ["identity;q=0.5, br;q=0.5", "br"],
      // Nothing that there is, is accepted: better the file than nothing.
      ["identity;q=0, zstd", undefined],
    ];
    for (const path of ["/", script, style]) {
      const plain = (await get(path)).body;
      for (const [acceptEncoding, coding] of asked) {
        const { status, headers, body } = await get(
          path,
          acceptEncoding === null ? {} : { "accept-encoding": acceptEncoding },
        );
        expect(status).toBe(200);
        expect(headers["content-encoding"], `${path} for ${acceptEncoding}`).toBe(coding);
        expect(headers.vary).toMatch(/\baccept-encoding\b/i);
        const decoded =
          coding === "br" ? brotliDecompressSync(body) : coding === "gzip" ? gunzipSync(body) : body;
        expect(decoded.equals(plain), `${path} for ${acceptEncoding}`).toBe(true);
        if (coding !== undefined) expect(body.length).toBeLessThan(plain.length);
      }
    }
  });

  it("is not sent again to a client that has it", async () => {
    for (const path of ["/", "/settings/keys", script]) {
      const first = await get(path, BROWSER);
      const etag = first.headers.etag ?? "";
      expect(etag).toMatch(/^(W\/)?"[^"]{20,}"$/);
      const weak = etag.startsWith("W/") ? etag : `W/${etag}`;
      for (const held of [etag, weak, `"another", ${etag}`, "*"]) {
        const again = await get(path, { ...BROWSER, "if-none-match": held });
        expect(again.status, held).toBe(304);
        expect(again.body).toHaveLength(0);
        expect(again.headers.etag).toBe(etag);
        expect(again.headers["cache-control"]).toBe(first.headers["cache-control"]);
        expect(again.headers.vary).toMatch(/\baccept-encoding\b/i);
        // A page that is held gets the policy that is in force now.
        expect(again.headers["content-security-policy"]).toBe(first.headers["content-security-policy"]);
      }
      for (const held of ['"another"', 'W/"another"', ""]) {
        expect((await get(path, { ...BROWSER, "if-none-match": held })).status, held).toBe(200);
      }
      // Another coding is other bytes: who has one of them has not the other.
      const plain = await get(path);
      expect(plain.headers.etag).not.toBe(etag);
      expect((await get(path, { "if-none-match": etag })).status).toBe(200);
    }
  });

  it("is cached forever if its name contains a hash, and revalidated at each visit otherwise", async () => {
    expect((await get("/")).headers["cache-control"]).toBe("no-cache");
    expect((await get("/index.html")).headers["cache-control"]).toBe("no-cache");
    expect((await get(script)).headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  });

  it("has the same headers for HEAD, without a body", async () => {
    const whole = await get(script, BROWSER);
    const { status, headers, body } = await get(script, BROWSER, "HEAD");
    expect(status).toBe(200);
    expect(body).toHaveLength(0);
    for (const name of ["etag", "content-type", "content-encoding", "cache-control"] as const) {
      expect(headers[name], name).toBe(whole.headers[name]);
    }
  });

  it("is refused with the errors of the API, which programs can read", async () => {
    const errorOf = ({ body }: Answer) => JSON.parse(body.toString()).error;
    for (const [method, path] of [
      ["POST", "/"],
      ["PUT", "/settings/keys"],
      ["DELETE", "/healthz"],
      ["POST", "/metrics"],
      ["POST", "/docs/tutorials/first-request"],
    ] as const) {
      const refused = await get(path, {}, method);
      expect([refused.status, refused.headers.allow], path).toEqual([405, "GET, HEAD"]);
      expect(refused.headers["content-type"]).toBe("application/json");
      expect(errorOf(refused)).toEqual({
        message: expect.stringMatching(/^Use GET or HEAD here\. .*\/v1/),
        type: "invalid_request_error",
        param: null,
        code: "method_not_allowed",
      });
    }
    for (const path of ["/no-such-file.js", "/.env", "/.git/config", "/settings/.keys"]) {
      const missing = await get(path);
      expect([missing.status, errorOf(missing).code], path).toEqual([404, "not_found"]);
    }
  });

  it("is not served under the name of its compressed form", async () => {
    for (const path of [`${script}.br`, `${script}.gz`, "/index.html.br", "/index.html.gz"]) {
      expect((await get(path, BROWSER)).status, path).toBe(404);
    }
  });
});

describe("a page of the dashboard", () => {
  it("can be opened by its address also if a model's name in it has a dot", async () => {
    const page = await get("/models", { accept: "text/html" });
    for (const path of ["/models/openai%2Fgpt-4.1", "/models/acme%2Fllama-3.js"]) {
      const { status, headers, body } = await get(path, { accept: "text/html" });
      expect(status, path).toBe(200);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(body.equals(page.body)).toBe(true);
    }
    for (const path of ["/assets/none.js", "/none.html"]) expect((await get(path)).status, path).toBe(404);
  });

  it.each([
    ["/api/v1/key", "No such path"],
    ["/openai/v1/nothing", "No such path"],
    ["/health", "Use GET /readyz or GET /healthz."],
    ["/livez", "Use GET /readyz or GET /healthz."],
    ["/api/health", "Use GET /readyz or GET /healthz."],
  ])("is not what a program gets that looks for an API at %s", async (path, hint) => {
    const { status, body } = await get(path, { accept: "*/*" });
    expect(status).toBe(404);
    const { error } = JSON.parse(body.toString());
    expect(error.message).toContain(hint);
    expect(error.message).not.toContain("base URL");
    expect((await get(path, { accept: "text/html" })).status).toBe(200);
  });
});

describe("every answer of the dashboard", () => {
  it("has a content security policy that restricts its page", async () => {
    for (const path of ["/", "/sign-in", script, "/assets/none.js"]) {
      const { headers } = await get(path, BROWSER);
      const policy = new Map(
        (headers["content-security-policy"] ?? "")
          .toString()
          .split(/;\s*/)
          .map((directive) => {
            const [name = "", ...sources] = directive.split(/\s+/);
            return [name, sources.join(" ")];
          }),
      );
      expect(policy.get("default-src"), path).toBe("'self'");
      expect(policy.get("script-src")).toBe("'self'");
      expect(policy.get("style-src")).toBe("'self'");
      expect(policy.get("connect-src")).toBe("'self'");
      expect(policy.get("form-action")).toBe("'self'");
      expect(policy.get("frame-ancestors")).toBe("'none'");
      expect(policy.get("object-src")).toBe("'none'");
      expect(policy.get("base-uri")).toBe("'none'");
      expect(policy.get("require-trusted-types-for")).toBe("'script'");
      expect([...policy.values()].join(" ")).not.toMatch(/unsafe|https?:|\*/);
      const features = String(headers["permissions-policy"]).split(/,\s*/);
      expect(features).toEqual(
        expect.arrayContaining(["camera=()", "microphone=()", "geolocation=()", "clipboard-write=(self)"]),
      );
      expect(features.filter((feature) => !feature.endsWith("=()"))).toEqual(["clipboard-write=(self)"]);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("same-origin");
      expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
    }
  });
});
