import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, openPage, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, signUp, signUpWithKey, type Visitor } from "../fixtures/user.ts";

const run = promisify(execFile);
const DAY_MS = 24 * 60 * 60_000;
/** By which a request of a few tokens costs something. */
const PRICES = { inputUsdPerMTok: 1, outputUsdPerMTok: 10 };

let catalog: CatalogFile;
/** Under a name of its operator's. */
let named: Service;
let operator: Visitor;
/** Of an account that only lies there and is looked at. */
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

/** A page of someone who is signed in. */
async function pageOf(
  visitor: Visitor,
  path = "/",
  options: BrowserContextOptions = {},
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<WatchedPage> {
  const watched = await openPage(site.browser, visitor.baseUrl, options);
  const { page } = watched;
  await prepare(page);
  await signInBy(page, visitor);
  await page.goto(path);
  await page.getByRole("heading", { level: 1, name: /Overview|Usage/ }).waitFor();
  return watched;
}

async function chat(key: string, model: string): Promise<number> {
  const response = await fetch(`${site.service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }], max_tokens: 20 }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Six requests, one of them an error, of two keys and three models. */
async function ownerWithUsage(): Promise<Owner> {
  const owner = await signUpWithKey(site.service.baseUrl);
  const second = await owner.trpc.keys.create.mutate({ name: "second" });
  for (const model of ["sandbox/echo", "sandbox/echo", "sandbox/echo", "no/such"])
    await chat(owner.key, model);
  for (const model of ["sandbox/lorem", "sandbox/lorem"]) await chat(second.key, model);
  return owner;
}

/** What the table says: name, requests, errors, tokens and cost, row by row. */
async function cellsOf(page: Page): Promise<string[][]> {
  const rows = await page.getByRole("row").all();
  return Promise.all(
    rows.slice(1).map((row) => row.getByRole("rowheader").or(row.getByRole("cell")).allTextContents()),
  );
}

/** Name, requests and errors of each row. */
async function countsOf(page: Page): Promise<string[][]> {
  return (await cellsOf(page)).map((cells) => cells.slice(0, 3));
}

const chartOf = (page: Page, measure: string): Locator =>
  page.getByRole("slider", { name: new RegExp(`^Values of ${measure}`) });

describe.skipIf(!hasBrowser)("an account that has made no request yet", () => {
  it.each(
    ["curl", "SDK", "openai"].flatMap((client) => [
      { client, variable: "OSTIARY_API_KEY", at: () => site.service },
      { client, variable: "ACME_AI_API_KEY", at: () => named },
    ]),
  )(
    "is led to the first one by code that runs as it is copied ($client, $variable), and sees that it has come",
    async ({ client, variable, at }) => {
      const owner = await signUpWithKey(at().baseUrl);
      const { page, complaints } = await pageOf(owner, "/");
      await page.getByText("Waiting for the first request…").waitFor();
      await page.getByText(`export ${variable}=`).waitFor();
      await page.getByRole("button", { name: client, exact: true }).click();
      await page.getByRole("button", { name: "Copy code" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const code = await page.evaluate(() => navigator.clipboard.readText());

      expect(await outputOf(client, code, { [variable]: owner.key })).toContain("Hello!");
      await page.getByText("The first request has arrived.").waitFor();
      await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
      expect(complaints).toEqual([]);
    },
  );

  it("is led to a key first when it has none", async () => {
    const { page, complaints } = await pageOf(await signUp(site.service.baseUrl));
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps the place of a keyboard when the instructions go", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await pageOf(owner);
    await page.getByRole("button", { name: "Copy code" }).focus();
    await chat(owner.key, "sandbox/echo");
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  });
});

/** What copied code prints, run as its reader would. */
async function outputOf(client: string, code: string, variables: Record<string, string>): Promise<string> {
  const env = { PATH: process.env.PATH, ...variables };
  if (client === "curl") return (await run("bash", ["-c", code], { env })).stdout;
  const folder = await mkdtemp(join(tmpdir(), "ostiary-snippet-"));
  try {
    await mkdir(join(folder, "node_modules"));
    await symlink(join(ROOT, "sdk"), join(folder, "node_modules/ostiary"));
    await symlink(join(ROOT, "node_modules/openai"), join(folder, "node_modules/openai"));
    await writeFile(join(folder, "first.mjs"), code);
    return (await run(process.execPath, ["first.mjs"], { cwd: folder, env })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe.skipIf(!hasBrowser)("an account's usage", () => {
  it("is told by model, by key and in time, and stands in the address", async () => {
    const { page, complaints } = await pageOf(used);
    await expect
      .poll(() => countsOf(page))
      .toEqual([
        ["sandbox/echo", "3", "0"],
        ["sandbox/lorem", "2", "0"],
        ["unknown model", "1", "1 100%"],
      ]);
    await page.getByRole("definition").getByText("6", { exact: true }).waitFor();
    await page.getByRole("definition").getByText("16.7%").waitFor();

    await page.getByRole("button", { name: "By key" }).click();
    await expect
      .poll(() => countsOf(page))
      .toEqual([
        [expect.stringMatching(/^test …\w{4}$/), "4", "1 25%"],
        [expect.stringMatching(/^second …\w{4}$/), "2", "0"],
      ]);
    await page.getByRole("button", { name: "24 hours" }).click();
    await page.getByRole("img", { name: "Requests by key, the last 24 hours" }).waitFor();
    await page.reload();
    await page.getByRole("img", { name: "Requests by key, the last 24 hours" }).waitFor();

    await page.getByRole("button", { name: "Total" }).click();
    await page.getByRole("button", { name: "Show all 24" }).waitFor();
    await expect.poll(() => countsOf(page)).toContainEqual([expect.any(String), "6", "1 16.7%"]);
    expect(new URL(page.url()).search).toBe("?range=24h&by=none");
    expect(complaints).toEqual([]);
  });

  it("costs what the account was charged", async () => {
    const { balanceNanoUsd } = await used.trpc.credits.balance.query();
    const { page } = await pageOf(used, "/?range=30d&by=none");
    await page.getByRole("table").waitFor();
    const [today] = await cellsOf(page);
    const spentUsd = Number(5_000_000_000n - balanceNanoUsd) / 1e9;
    expect(spentUsd).toBeGreaterThan(0);
    expect(Number(today?.at(-1)?.replace("$", ""))).toBeCloseTo(spentUsd, 4);
  });

  it("comes by itself, without a reload", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "sandbox/echo");
    const { page } = await pageOf(owner, "/", {}, (page) => page.clock.install());
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
    await chat(owner.key, "sandbox/echo");
    await page.clock.fastForward(31_000);
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "2", "0"]]);
  });

  it("leads to the entries behind it", async () => {
    const { page } = await pageOf(used, "/?by=key");
    await page.getByRole("link", { name: /^second …/ }).click();
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toMatch(/^[0-9a-f-]{36}$/);
    await page.getByText("sandbox/lorem").first().waitFor();
    expect(await page.getByText("sandbox/echo").count()).toBe(0);
  });

  it("says that there was none where there was none", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "sandbox/echo");
    const { page } = await pageOf(owner, "/?range=24h", {}, (page) =>
      page.clock.setFixedTime(Date.now() + 2 * DAY_MS),
    );
    await page.getByText("No requests in the last 24 hours.").waitFor();
    await page.getByRole("button", { name: "7 days" }).click();
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
  });
});

describe.skipIf(!hasBrowser)("a chart", () => {
  it("is read by keyboard, interval by interval", async () => {
    const { page } = await pageOf(used);
    const chart = chartOf(page, "Requests");
    const today = new Intl.DateTimeFormat("en-GB", {
      day: "numeric",
      month: "long",
      timeZone: "UTC",
    }).format(new Date());
    await chart.focus();
    const said = () => chart.getAttribute("aria-valuetext");
    expect(await said()).toMatch(new RegExp(`${today}.*: sandbox/echo 3, sandbox/lorem 2, unknown model 1$`));
    await page.getByText("Total", { exact: true }).last().waitFor();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(said).toMatch(/: none$/);
    await page.keyboard.press("Home");
    expect(await chart.getAttribute("aria-valuenow")).toBe("0");
    await page.keyboard.press("End");
    await expect.poll(said).toContain("sandbox/echo 3");
    await page.locator(".chart-tooltip").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".chart-tooltip").waitFor({ state: "detached" });
  });

  it("shows the values where the pointer is", async () => {
    const { page } = await pageOf(used);
    const box = await chartOf(page, "Errors").boundingBox();
    if (box === null) throw new Error("the chart is not there");
    await page.mouse.move(box.x + box.width - 4, box.y + 20);
    await expect.poll(() => page.locator(".chart-tooltip").textContent()).toMatch(/unknown model1Total1$/);
    await page.mouse.move(box.x + 4, box.y + 20);
    await expect.poll(() => page.locator(".chart-tooltip").textContent()).toMatch(/Total0$/);
    await page.mouse.move(0, 0);
    await page.locator(".chart-tooltip").waitFor({ state: "detached" });
  });

  it("takes the colours of the theme that is chosen", async () => {
    const { page } = await pageOf(used);
    await chartOf(page, "Requests").waitFor();
    for (const theme of ["Dark", "Light", "Dark"]) {
      await page.getByRole("button", { name: theme, exact: true }).click();
      await expect.poll(() => page.evaluate(missingColours)).toEqual([]);
    }
  });

  it.each([375, 1_920])("has room for what is written below it, in a window of %i pixels", async (width) => {
    const { page } = await pageOf(used, "/", { viewport: { width, height: 800 } });
    for (const range of ["24 hours", "7 days", "30 days", "12 months"]) {
      await page.getByRole("button", { name: range }).click();
      await page.getByRole("img", { name: `Requests by model, the last ${range}` }).waitFor();
      const { texts, overlaps, fits } = await page.evaluate(roomBelowCharts);
      expect(texts, range).toBeGreaterThanOrEqual(4 * 3);
      expect({ overlaps, fits }, range).toEqual({ overlaps: 0, fits: true });
    }
  });
});

/** How many texts stand below charts, how many of them touch the next one, and whether the page needs no sideways scrolling. */
function roomBelowCharts(): { readonly texts: number; readonly overlaps: number; readonly fits: boolean } {
  const boxes = [...document.querySelectorAll(".chart-times")].flatMap((axis) => {
    const own = [...axis.children].map((text) => text.getBoundingClientRect());
    return own.map((box, index) => ({ box, next: own[index + 1] }));
  });
  return {
    texts: boxes.length,
    overlaps: boxes.filter(({ box, next }) => next !== undefined && box.right > next.left).length,
    fits: document.documentElement.scrollWidth <= innerWidth,
  };
}

/** Which colours of the legend, as the styles have them now, are not to be found in the first chart. */
function missingColours(): string[] {
  const canvas = document.querySelector<HTMLCanvasElement>(".chart-plot canvas");
  const context = canvas?.getContext("2d");
  const swatches = [...document.querySelectorAll(".chart-legend .chart-swatch")];
  if (canvas === null || context == null || swatches.length < 3) return ["chart or legend"];
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const drawn = new Set<string>();
  for (let at = 0; at < data.length; at += 4) drawn.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
  return swatches
    .map((swatch) => getComputedStyle(swatch).backgroundColor)
    .filter((colour) => !drawn.has(colour));
}

describe.skipIf(!hasBrowser)("the credit", () => {
  it("lasts as long as it would at the rate of the last whole days, and warns when that is short", async () => {
    const owner = await ownerWithUsage();
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    const spent = 5_000_000_000n - balanceNanoUsd;
    const leave = (days: bigint) =>
      operator.trpc.operator.accounts.grantCredits.mutate({
        id,
        // And half a day more, so that rounding does not matter.
        amountNanoUsd: (spent * (2n * days + 1n)) / 14n - balanceNanoUsd,
        reason: "test",
      });
    await leave(2n);
    // Tomorrow, today is one of the last whole days.
    const { page } = await pageOf(owner, "/", {}, (page) => page.clock.setFixedTime(Date.now() + DAY_MS));
    const outlook = page.getByText("Lasts about 2 days at the average spend of the last 7 days.");
    await outlook.waitFor();
    const toneOf = (text: Locator) => text.evaluate((element) => getComputedStyle(element).backgroundColor);
    const warning = await toneOf(outlook);

    await operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: spent, reason: "test" });
    await page.reload();
    const longer = page.getByText("Lasts about 9 days at the average spend of the last 7 days.");
    await longer.waitFor();
    expect(await toneOf(longer)).not.toBe(warning);
  });

  it("has no rate where nothing was spent", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "no/such");
    const { page } = await pageOf(owner);
    await page.getByText("No spend in the last 7 days.").waitFor();
    await page.getByText("$5.00").first().waitFor();
  });
});

describe.skipIf(!hasBrowser)("the limits", () => {
  it("say how close the account is to each, as it goes", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await operator.trpc.operator.accounts.setLimits.mutate({
      id,
      limits: { requestsPerMinute: 10, tokensPerMinute: null, concurrentRequests: null },
    });
    await chat(owner.key, "sandbox/echo");
    const { page } = await pageOf(owner);
    const requests = page.getByRole("meter", { name: "Requests per minute" });
    await expect.poll(() => requests.getAttribute("aria-valuetext")).toBe("1 of 10");
    await chat(owner.key, "sandbox/echo");
    await expect.poll(() => requests.getAttribute("aria-valuetext")).toBe("2 of 10");
    expect(await page.getByRole("meter", { name: "Active keys" }).getAttribute("aria-valuetext")).toBe(
      "1 of 50",
    );
    await page.getByText("Tokens per minute").locator("..").getByText("no limit").waitFor();
  });
});

describe.skipIf(!hasBrowser)("the operator's usage", () => {
  it("tells who uses what, and leads to the account", async () => {
    const { id, name } = await used.trpc.account.get.query();
    const { page, complaints } = await pageOf(operator, "/operator/usage?by=account");
    const links = page.getByRole("link", { name, exact: true });
    await links.first().waitFor();
    const hrefs = await links.evaluateAll((found) => found.map((link) => link.getAttribute("href")));
    expect(hrefs).toContain(`/operator/accounts/${id}`);
    await page.getByRole("button", { name: "By model" }).click();
    await page.getByRole("rowheader", { name: "sandbox/lorem" }).waitFor();
    expect(new URL(page.url()).searchParams.get("by")).toBe("model");
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser).each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it.each([
    {
      what: "the way to the first request",
      person: () => signUpWithKey(site.service.baseUrl),
      path: "/",
      shows: "Copy code",
    },
    { what: "the overview by key", person: () => used, path: "/?by=key", shows: "second" },
    { what: "the overview in time", person: () => used, path: "/?by=none&range=30d", shows: "Show all 30" },
    {
      what: "the operator's usage",
      person: () => operator,
      path: "/operator/usage?by=account",
      shows: "Test",
    },
  ])("axe finds nothing wrong with $what", async ({ person, path, shows }) => {
    const { page, complaints } = await pageOf(await person(), path, { colorScheme });
    await page.getByText(shows).first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
