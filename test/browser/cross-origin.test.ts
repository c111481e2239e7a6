import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { startService } from "../fixtures/service.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const servePage = () =>
  createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<h1>Chat</h1>");
  });
/** The servers of two pages. The operator has allowed the origin of the first. */
const allowed = servePage();
const other = servePage();
const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const site = openSite(async () => {
  for (const server of [allowed, other]) await once(server.listen(0, "127.0.0.1"), "listening");
  return startService({ env: { OSTIARY_ALLOWED_ORIGINS: originOf(allowed) } });
});

afterAll(() => {
  for (const server of [allowed, other]) server.close();
});

/** What a page reads of a stream, and of the headers of its answer; `null` if its browser does not let it. */
async function readFrom(origin: string) {
  const { baseUrl } = site.service;
  const { key } = await signUpWithKey(baseUrl);
  const context = await site.browser.newContext();
  const page = await context.newPage();
  await page.goto(origin);
  const read = await page.evaluate(
    async ({ url, key }) => {
      const messages = [{ role: "user", content: "Say hello." }];
      try {
        const response = await fetch(url, {
          method: "POST",
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            "x-stainless-lang": "js",
          },
          body: JSON.stringify({ model: "sandbox/echo", messages, stream: true }),
        });
        return { text: await response.text(), requestId: response.headers.get("x-request-id") };
      } catch {
        return null;
      }
    },
    { url: `${baseUrl}/v1/chat/completions`, key },
  );
  await context.close();
  return read;
}

describe.skipIf(!hasBrowser)("a page of another origin", () => {
  it("reads streams and their headers where the operator has allowed its origin", async () => {
    const read = await readFrom(originOf(allowed));
    expect(read?.text).toContain("data: [DONE]");
    expect(read?.requestId).toMatch(/^req_/);
  });

  it("reads nothing where the operator has not", async () => {
    expect(await readFrom(originOf(other))).toBe(null);
  });
});
