import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { openSite, type Site } from "../fixtures/site.ts";
import type { Owner, Visitor } from "../fixtures/user.ts";

/** The service's credential at the upstreams. */
export const CREDENTIAL = "upstream-secret-4711";

/** A service with upstreams, and a browser in which an operator is signed in. */
export interface ConsoleSite {
  readonly site: Site;
  readonly operator: Visitor;
  /** A page that a file's tests share. */
  readonly watched: WatchedPage;
  /** The status that the models of each upstream answer with. */
  readonly answers: { well: number; flaky: number; locked: number };
  /** Another page of the operator. */
  open(options?: BrowserContextOptions): Promise<WatchedPage>;
}

/** Starts the service before the first of a file's tests, and ends it after the last. */
export function openConsoleSite(): ConsoleSite {
  let modelServer: ModelServer;
  let catalog: CatalogFile;
  let operator: Visitor;
  let watched: WatchedPage;
  const answers = { well: 200, flaky: 200, locked: 200 };
  const site = openSite(async () => {
    modelServer = await startModelServer((request) => {
      const name = /^\/v1\/(\w+)/.exec(request.path)?.[1];
      const status = name === "flaky" || name === "locked" ? answers[name] : answers.well;
      if (status === 200) answerWhole(request);
      else request.response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
    const upstream = (name: string) => ({
      dialect: "openai",
      baseUrl: `${modelServer.baseUrl}/${name}`,
      credentialEnv: "UPSTREAM_KEY",
      breaker: { failures: 1, openMs: 60_000 },
    });
    const model = (name: string) => ({
      id: `models/${name}`,
      aliases: [`alias-of-${name}`],
      prices: { inputUsdPerMTok: "2.50", outputUsdPerMTok: "10.00" },
      routes: [{ upstream: name, model: "inner" }],
    });
    catalog = await writeCatalog({
      upstreams: {
        well: upstream("well"),
        flaky: upstream("flaky"),
        locked: { ...upstream("locked"), breaker: { failures: 5, openMs: 60_000 } },
      },
      models: [model("well"), model("flaky"), model("locked")],
    });
    const env = { OSTIARY_CATALOG: catalog.file, UPSTREAM_KEY: CREDENTIAL };
    return startOperatedService({ env });
  });

  beforeAll(async () => {
    if (!hasBrowser) return;
    operator = await signInOperator(site.service.baseUrl);
    watched = await open();
  });

  afterAll(async () => {
    await catalog?.[Symbol.asyncDispose]();
    await modelServer?.[Symbol.asyncDispose]();
  });

  const open = async (options: BrowserContextOptions = {}): Promise<WatchedPage> => {
    const opened = await site.open(operator, "/operator", options);
    await heading(opened.page, "Accounts").waitFor();
    return opened;
  };

  return {
    site,
    get operator() {
      return operator;
    },
    get watched() {
      return watched;
    },
    answers,
    open,
  };
}

export function heading(page: Page, name: string): Locator {
  return page.getByRole("heading", { level: 1, name, exact: true });
}

export function panel(page: Page, name: string): Locator {
  return page.getByRole("region", { name, exact: true });
}

export async function idOf(owner: Owner): Promise<string> {
  return (await owner.trpc.account.get.query()).id;
}

/** A tab of the page of an owner's account. */
export async function openAccount(page: Page, owner: Owner, tab = "overview"): Promise<void> {
  await page.goto(`/operator/accounts/${await idOf(owner)}?tab=${tab}`);
  await panel(page, "Summary").waitFor();
}

/** Chooses an action of the account's menu. @returns its dialog. */
export async function chooseAction(page: Page, name: string): Promise<Locator> {
  await page.getByRole("button", { name: "Actions", exact: true }).click();
  await page.getByRole("menuitem", { name, exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  return dialog;
}

/** A secret that is shown once. */
export async function takePassword(page: Page): Promise<string> {
  const password = (await page.getByTestId("password-string").textContent()) ?? "";
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  return password;
}
