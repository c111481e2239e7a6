import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { readDocument } from "./snippets.ts";

const service = sharedByFile(startService);
/** The pages below /docs that links lead to, from its index on, by path. */
const pages = new Map<string, string>();
/** Links of pages: "page → link". */
const links: { readonly from: string; readonly to: URL }[] = [];

beforeAll(async () => {
  await follow("/docs");
});

/** Reads a page, and the pages that it links to. */
async function follow(path: string): Promise<void> {
  const waiting = [path];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (pages.has(next)) continue;
    const response = await fetch(service.baseUrl + next);
    const isPage = response.headers.get("content-type")?.startsWith("text/html");
    const text = await response.text();
    if (response.status !== 200 || isPage !== true) continue;
    pages.set(next, text);
    for (const [, href = ""] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      const to = new URL(unescaped(href), service.baseUrl + next);
      links.push({ from: next, to });
      if (to.origin === service.baseUrl && /^\/docs(\/|$)/.test(to.pathname)) waiting.push(to.pathname);
    }
  }
}

/** Text for search engines and for links in chats. */
const DESCRIPTION = /<meta name="description" content="[^"]{10,}">/;

function unescaped(markup: string): string {
  const characters: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return markup.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => characters[name] ?? "");
}

function hasAnchor(page: string, id: string): boolean {
  return page.includes(` id="${id}"`);
}

interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
}

interface OpenApi {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

async function openApi(): Promise<OpenApi & { readonly servers: unknown }> {
  return (await (await fetch(`${service.baseUrl}/v1/openapi.json`)).json()) as OpenApi & { servers: unknown };
}

describe("the documentation at /docs", () => {
  it("has a page for every document of docs/, which links lead to", () => {
    const documents = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".md"),
    );
    expect(documents.length).toBeGreaterThan(40);
    for (const path of documents) {
      const page = pages.get(`/docs/${path.replace(/\.md$/, "")}`.replace(/\/README$/, ""));
      const title = /^# (.*)$/m.exec(readDocument(`docs/${path}`))?.[1]?.replaceAll("`", "") ?? "";
      expect(page, path).toBeDefined();
      expect(unescaped(page ?? "")).toContain(`<h1>${title}</h1>`);
    }
  });

  it("has no link to a page or a section that does not exist", async () => {
    const own = links.filter(({ to }) => to.origin === service.baseUrl);
    expect(own.length).toBeGreaterThan(1_000);
    const others = [...new Set(own.map(({ to }) => to.pathname))].filter((path) => !pages.has(path));
    for (const path of others) {
      const { status, headers } = await fetch(service.baseUrl + path);
      expect(status, path).toBe(200);
      // Only the dashboard itself: its page answers unknown paths.
      if (headers.get("content-type")?.startsWith("text/html")) expect(path).toBe("/");
    }
    const dead = own.filter(({ to }) => {
      const page = pages.get(to.pathname);
      return to.hash !== "" && (page === undefined || !hasAnchor(page, decodeURIComponent(to.hash.slice(1))));
    });
    expect(dead.map(({ from, to }) => `${from} → ${to.pathname}${to.hash}`)).toEqual([]);
    // Links to elsewhere are what the documents cite.
    const elsewhere = links.filter(({ to }) => to.origin !== service.baseUrl);
    expect(elsewhere.filter(({ to }) => to.protocol !== "https:" && to.hostname !== "127.0.0.1")).toEqual([]);
  });

  it("has what the dashboard leads to", () => {
    const leads = [
      ...readDocument("dashboard-ui/src/components/LearnMore.tsx").matchAll(/"(\/docs\/[^"]+)"/g),
    ];
    expect(leads.length).toBeGreaterThan(4);
    for (const [, address = ""] of leads) {
      const [path = "", id] = address.split("#");
      expect(pages.has(path), address).toBe(true);
      if (id !== undefined) expect(hasAnchor(pages.get(path) ?? "", id), address).toBe(true);
    }
  });

  it("finds only sections that exist", async () => {
    const index = (await (await fetch(`${service.baseUrl}/docs/search.json`)).json()) as readonly {
      href: string;
    }[];
    expect(index.length).toBeGreaterThan(200);
    const missing = index.filter(({ href }) => {
      const [path = "", id] = href.split("#");
      const page = pages.get(path);
      return page === undefined || (id !== undefined && !hasAnchor(page, id));
    });
    expect(missing).toEqual([]);
  });

  it("describes each page in its head", () => {
    expect([...pages].filter(([, page]) => !DESCRIPTION.test(page)).map(([path]) => path)).toEqual([]);
  });

  it("answers unknown pages with 404 and a way back, and its pages under the dashboard's policy", async () => {
    const missing = await fetch(`${service.baseUrl}/docs/how-to/fly`);
    expect(missing.status).toBe(404);
    const text = await missing.text();
    expect(text).toContain('<a href="/docs">');
    expect(text).toMatch(DESCRIPTION);
    const page = await fetch(`${service.baseUrl}/docs/`, { headers: { "accept-encoding": "br" } });
    expect(page.status).toBe(200);
    expect(page.headers.get("content-encoding")).toBe("br");
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    const again = await fetch(`${service.baseUrl}/docs/`, {
      headers: { "accept-encoding": "br", "if-none-match": page.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
    const [asset] = /\/docs\/assets\/[^"]+\.css/.exec(await page.text()) ?? [];
    const { headers } = await fetch(service.baseUrl + asset);
    expect(headers.get("cache-control")).toContain("immutable");
  });
});

describe("the API reference at /docs/api", () => {
  it("is made from the document that the service answers: run `npm run openapi` if it is not", async () => {
    const { servers, ...served } = await openApi();
    expect(servers).toBeDefined();
    expect(JSON.parse(readDocument("docs/reference/openapi.json"))).toEqual(served);
  });

  it("has every operation, in the page of its tag and in the list", async () => {
    const { paths, tags } = await openApi();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(operations.length).toBeGreaterThan(20);
    const overview = pages.get("/docs/api") ?? "";
    for (const operation of operations) {
      expect(tags.map(({ name }) => name)).toContain(operation.tags[0]);
      const address = `/docs/api/${operation.tags[0]?.toLowerCase().replaceAll(" ", "-")}`;
      expect(hasAnchor(pages.get(address) ?? "", operation.operationId), operation.operationId).toBe(true);
      expect(overview).toContain(`href="${address}#${operation.operationId}"`);
    }
  });

  it("shows requests that the service accepts", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "reference" });
    const requests = [...pages]
      .filter(([path]) => path.startsWith("/docs/api/"))
      .flatMap(([, page]) => [...page.matchAll(/<code>(curl [^<]+)<\/code>/g)])
      .map(([, command = ""]) => unescaped(command));
    expect(requests.length).toBeGreaterThan(20);
    const withMessages = requests.filter((command) => command.includes('"messages"'));
    expect(withMessages.filter((command) => !command.includes('"content": "Hello!"'))).toEqual([]);
    for (const command of requests) {
      const [, path = ""] = /"http:\/\/127\.0\.0\.1:8080([^"]+)"/.exec(command) ?? [];
      const body = /-d '(.*)'$/s.exec(command)?.[1];
      const method = /-X (\w+)/.exec(command)?.[1] ?? (body === undefined ? "GET" : "POST");
      const credential = command.includes("$OSTIARY_API_KEY") ? owner.key : token;
      const response = await fetch(service.baseUrl + path, {
        method,
        headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      // What examples name by id is another account's: it is looked for, and not found.
      const isFound = response.ok || (response.status === 404 && /_|[0-9a-f]{8}-/.test(path));
      expect(isFound, `${command}\n${response.status} ${text}`).toBe(true);
    }
  });
});
