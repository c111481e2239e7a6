import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openSite, type Site, signInBy } from "../fixtures/site.ts";
import { type Owner, signUpWithKey, type Visitor } from "../fixtures/user.ts";

/** Prices at which a request of a few tokens costs something. */
const PRICES = { inputUsdPerMTok: 1, outputUsdPerMTok: 10 };

/** A service with an account whose usage is shown. */
export interface OverviewSite {
  readonly site: Site;
  /** Another service, with a name that its operator has chosen. */
  readonly named: Service;
  readonly operator: Visitor;
  /** The owner of an account that no test changes. */
  readonly used: Owner;
  /** The overview, or the operator's usage, of someone who is signed in. */
  pageOf(
    visitor: Visitor,
    path?: string,
    options?: BrowserContextOptions,
    prepare?: (page: Page) => Promise<void>,
  ): Promise<WatchedPage>;
  chat(key: string, model: string): Promise<number>;
  /** Six requests, one of them an error, of two keys and three models. */
  ownerWithUsage(): Promise<Owner>;
}

/** Starts the service before the first of a file's tests, and ends it after the last. */
export function openOverviewSite(): OverviewSite {
  let catalog: CatalogFile;
  let named: Service;
  let operator: Visitor;
  let used: Owner;

  const site = openSite(async () => {
    const routeTo = (model: string) => ({
      id: `sandbox/${model}`,
      prices: PRICES,
      routes: [{ upstream: "sandbox", model }],
    });
    catalog = await writeCatalog({
      upstreams: { sandbox: { dialect: "sandbox" } },
      models: [
        {
          id: "sandbox/embedding",
          modalities: { input: ["text"], output: ["embedding"] },
          routes: [{ upstream: "sandbox", model: "embedding" }],
        },
        routeTo("echo"),
        routeTo("lorem"),
      ],
    });
    const env = { OSTIARY_CATALOG: catalog.file };
    const [service, other] = await Promise.all([
      startOperatedService({ env }),
      startService({ env: { ...env, OSTIARY_SERVICE_NAME: "Acme AI" } }),
    ]);
    named = other;
    return service;
  });

  beforeAll(async () => {
    if (!hasBrowser) return;
    operator = await signInOperator(site.service.baseUrl);
    used = await ownerWithUsage();
  });

  afterAll(async () => {
    await named?.[Symbol.asyncDispose]();
    await catalog?.[Symbol.asyncDispose]();
  });

  async function pageOf(
    visitor: Visitor,
    path = "/",
    options: BrowserContextOptions = {},
    prepare: (page: Page) => Promise<void> = async () => {},
  ): Promise<WatchedPage> {
    const watched = await site.page(options, visitor.baseUrl);
    const { page } = watched;
    await prepare(page);
    await signInBy(page, visitor);
    await page.goto(path);
    await page.getByRole("heading", { level: 1, name: /Overview|Usage/ }).waitFor();
    return watched;
  }

  async function chat(key: string, model: string): Promise<number> {
    const response = await sendChat(site.service.baseUrl, key, {
      model,
      messages: [{ role: "user", content: "Hello!" }],
      max_tokens: 20,
    });
    await response.arrayBuffer();
    return response.status;
  }

  async function ownerWithUsage(): Promise<Owner> {
    const owner = await signUpWithKey(site.service.baseUrl);
    const second = await owner.trpc.keys.create.mutate({ name: "second" });
    for (const model of ["sandbox/echo", "sandbox/echo", "sandbox/echo", "no/such"])
      await chat(owner.key, model);
    for (const model of ["sandbox/lorem", "sandbox/lorem"]) await chat(second.key, model);
    return owner;
  }

  return {
    site,
    get named() {
      return named;
    },
    get operator() {
      return operator;
    },
    get used() {
      return used;
    },
    pageOf,
    chat,
    ownerWithUsage,
  };
}

/** What the table says: name, requests, errors, tokens and cost, row by row. */
export async function cellsOf(page: Page): Promise<string[][]> {
  const rows = await page
    .getByRole("table", { name: /^Usage/ })
    .getByRole("row")
    .all();
  return Promise.all(
    rows.slice(1).map((row) => row.getByRole("rowheader").or(row.getByRole("cell")).allTextContents()),
  );
}

/** Name, requests and errors of each row. */
export async function countsOf(page: Page): Promise<string[][]> {
  return (await cellsOf(page)).map((cells) => cells.slice(0, 3));
}

export const chartOf = (page: Page, measure: string): Locator =>
  page.getByRole("slider", { name: new RegExp(`^Values of ${measure}`) });
