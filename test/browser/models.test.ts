import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { runInShell, runModule } from "../fixtures/run-code.ts";
import { startService } from "../fixtures/service.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const CATALOG = {
  upstreams: { sandbox: { dialect: "sandbox" } },
  models: [
    {
      id: "acme/small",
      aliases: ["petite"],
      ownedBy: "acme",
      contextTokens: 8_192,
      prices: { inputUsdPerMTok: "0.0125", cachedInputUsdPerMTok: "0.003", outputUsdPerMTok: "0.5" },
      routes: [{ upstream: "sandbox", model: "echo" }],
    },
    {
      id: "acme/large",
      ownedBy: "acme",
      contextTokens: 1_000_000,
      maxOutputTokens: 32_768,
      modalities: { input: ["text", "image"], output: ["text"] },
      prices: { inputUsdPerMTok: "2", outputUsdPerMTok: "8", imageUsd: "0.0036125" },
      routes: [{ upstream: "sandbox", model: "lorem" }],
    },
    {
      id: "open/gift",
      ownedBy: "open",
      contextTokens: 200_000,
      prices: { inputUsdPerMTok: "0", outputUsdPerMTok: "0" },
      routes: [{ upstream: "sandbox", model: "echo" }],
    },
    {
      id: "open/vectors",
      ownedBy: "open",
      modalities: { input: ["text"], output: ["embedding"] },
      routes: [{ upstream: "sandbox", model: "embedding" }],
    },
  ],
};

let catalog: CatalogFile;
let owner: Awaited<ReturnType<typeof signUpWithKey>>;

const site = openSite(async () => {
  catalog = await writeCatalog(CATALOG);
  return startService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_SERVICE_NAME: "Acme Models" } });
});

beforeAll(async () => {
  if (hasBrowser) owner = await signUpWithKey(site.service.baseUrl);
});

afterAll(() => catalog?.[Symbol.asyncDispose]());

async function modelsPage(options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await site.open(owner, "/models", options);
  await watched.page.getByText("4 models", { exact: true }).waitFor();
  return watched;
}

/** The ids of the rows, from the first on. */
function idsOn(page: Page): Promise<string[]> {
  return page.locator(".ModelTable_modelId code").allTextContents();
}

describe.skipIf(!hasBrowser)("the catalog's page", () => {
  it("tells limits, modalities, and prices to the last digit; and what is free", async () => {
    const { page, complaints } = await modelsPage();
    const textOf = async (id: string) =>
      (await page.getByRole("row", { name: new RegExp(`^${id}`) }).textContent()) ?? "";
    const small = await textOf("acme/small");
    for (const words of ["$0.0125", "$0.003", "$0.50", "8,192", "unknown", "petite", "chat"]) {
      expect(small).toContain(words);
    }
    const large = await textOf("acme/large");
    // Cached input costs as much as input where the catalog does not say.
    expect(large).toMatch(/\$2\.00.*\$2\.00.*\$8\.00.*\$0\.0036125/);
    for (const words of ["1,000,000", "32,768", "images in"]) expect(large).toContain(words);
    expect(await textOf("open/gift")).toContain("Free");
    const vectors = await textOf("open/vectors");
    expect(vectors).toContain("Free");
    expect(vectors).toContain("embeddings");
    expect(complaints).toEqual([]);
  });

  it("is searched from the keyboard by id, alias, owner and modality, and the search stands in the address", async () => {
    const { page } = await modelsPage();
    await page.keyboard.press("/");
    await page.keyboard.type("petite");
    await page.getByText("1 of 4 models").waitFor();
    expect(await idsOn(page)).toEqual(["acme/small"]);
    const search = page.getByRole("searchbox", { name: "Search" });
    const found = async (text: string, ids: readonly string[]) => {
      await search.fill(text);
      await expect.poll(() => idsOn(page)).toEqual(ids);
    };
    await found("open embeddings", ["open/vectors"]);
    await found("images", ["acme/large"]);
    await found("ACME", ["acme/large", "acme/small"]);
    await expect.poll(() => new URL(page.url()).searchParams.get("search")).toBe("ACME");
    await page.reload();
    await page.getByText("2 of 4 models").waitFor();
    expect(await search.inputValue()).toBe("ACME");
    await search.fill("nobody's");
    await page.getByRole("heading", { name: "No model matches “nobody's”" }).waitFor();
  });

  it("is sorted by context and by price, which stands in the address", async () => {
    const { page } = await modelsPage();
    expect(await idsOn(page)).toEqual(["acme/large", "acme/small", "open/gift", "open/vectors"]);
    await page.getByLabel("Sort by").selectOption("Context, longest first");
    await expect.poll(() => idsOn(page)).toEqual(["acme/large", "open/gift", "acme/small", "open/vectors"]);
    await page.getByLabel("Sort by").selectOption("Price, lowest first");
    await expect.poll(() => idsOn(page)).toEqual(["open/gift", "open/vectors", "acme/small", "acme/large"]);
    await page.reload();
    await page.getByText("4 models", { exact: true }).waitFor();
    expect((await idsOn(page)).at(-1)).toBe("acme/large");
  });

  it("is asked for once, while one goes from page to page", async () => {
    // A context of its own, whose clock is set.
    const { page } = await modelsPage({ locale: "en-GB" });
    const start = new Date();
    await page.clock.setFixedTime(start);
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("models.list")) asked += 1;
    });
    const navigation = page.getByRole("navigation", { name: "Main" });
    for (const [index, name] of ["Quickstart", "Playground", "Request log", "Models"].entries()) {
      // Other data is asked for again after five seconds.
      await page.clock.setFixedTime(new Date(start.getTime() + (index + 1) * 10_000));
      await navigation.getByRole("link", { name }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    }
    expect(asked).toBe(0);
  });

  it("copies an id, and leads to the playground with the model", async () => {
    const { page } = await modelsPage();
    await page.getByRole("button", { name: "Copy acme/small" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("acme/small");
    await page.getByRole("link", { name: "Try it with acme/small" }).click();
    await page.getByRole("heading", { name: "Playground", level: 1 }).waitFor();
    await expect.poll(() => page.getByRole("combobox", { name: "Model" }).textContent()).toBe("acme/small");
  });

  it("has an example for embeddings that runs as it is pasted, with each client", async () => {
    const { page } = await modelsPage();
    await page.getByRole("button", { name: "Example with open/vectors" }).click();
    const dialog = page.getByRole("dialog");
    const codeOf = async (client: string) => {
      await dialog.getByRole("button", { name: client, exact: true }).click();
      await dialog.getByRole("button", { name: "Copy code" }).click();
      await dialog.getByRole("button", { name: "Copied" }).waitFor();
      const code = await page.evaluate(() => navigator.clipboard.readText());
      await dialog.getByRole("button", { name: "Copy code" }).waitFor();
      return code;
    };
    const variables = { ACME_MODELS_API_KEY: owner.key };
    const byCurl = await runInShell(await codeOf("curl"), variables);
    expect(JSON.parse(byCurl.stdout).data).toHaveLength(2);
    for (const client of ["Ostiary SDK", "openai"]) {
      const code = await codeOf(client);
      expect(code).not.toContain(owner.key);
      const ran = await runModule(code, variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(Number(ran.stdout)).toBeGreaterThan(0);
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it.each(["light", "dark"] as const)("has nothing that axe finds wrong: %s", async (colorScheme) => {
    const { page } = await modelsPage({ colorScheme });
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Example with open/vectors" }).click();
    await page.getByRole("dialog").getByText("/v1/embeddings").waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  it("fits tablets and small windows with prices of many digits", async () => {
    const { page } = await modelsPage({ viewport: { width: 768, height: 800 } });
    await page.route(/models\.list/, async (route) => {
      const response = await route.fetch();
      const body = (await response.text())
        .replaceAll('"12500000"', '"1234567891000"')
        .replaceAll('"3000000"', '"1000"')
        .replaceAll('"500000000"', '"1234567891000"')
        .replaceAll('"contextTokens":8192', '"contextTokens":1000000');
      await route.fulfill({ response, body });
    });
    await page.goto("/models?search=petite");
    const row = page.getByRole("row", { name: /^acme\/small/ });
    await row.getByText("$1,234.567891").first().waitFor();
    expect(await row.textContent()).toContain("$0.000001");
    const beyond: Record<number, number> = {};
    // The narrowest windows of each layout: with cells beside each other, with the navigation beside the page, and with more space in the cells.
    for (const width of [721, 768, 961, 1_024, 1_201, 1_361]) {
      await page.setViewportSize({ width, height: 800 });
      beyond[width] = await page
        .locator(".DataTable_tableFrame")
        .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    }
    expect(beyond).toEqual({ 721: 0, 768: 0, 961: 0, 1024: 0, 1201: 0, 1361: 0 });
  });

  it("is a list of cards on a phone, without sideways scrolling", async () => {
    const { page } = await modelsPage({ viewport: { width: 375, height: 800 } });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    const card = page.getByRole("row", { name: /^acme\/large/ });
    const { width = 0 } = (await card.boundingBox()) ?? {};
    expect(width).toBeLessThan(375);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("searchbox").fill("unknown".repeat(12));
    await page.getByRole("heading", { name: /^No model matches/ }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  });
});

describe.skipIf(!hasBrowser)("the page of a model", () => {
  it.each(["acme/small", "acme/no-such-model"])(
    "of %s moves nothing, in whatever order its parts arrive",
    async (id) => {
      const { page } = await site.open(owner, "/docs/");
      const usage = page.waitForResponse(/usage\.summary/);
      // Its first parts come last.
      await page.route(/models\.list|service\.info/, async (route) => {
        await (await usage).finished();
        await route.continue();
      });
      await page.addInitScript(recordPlaces);
      await page.goto(`/models/${encodeURIComponent(id)}`);
      await page.getByText(/^No requests in/).waitFor();
      expect(await page.evaluate(() => Reflect.get(window, "places"))).toHaveLength(1);
    },
  );
});

/** Collects where the heading of the usage is shown, one place after the other. Runs in the page. */
function recordPlaces(): void {
  const places: number[] = [];
  Reflect.set(window, "places", places);
  const look = () => {
    const heading = [...document.querySelectorAll("h2")].find((each) => each.textContent === "Usage");
    if (heading?.checkVisibility() === true) {
      const top = Math.round(heading.getBoundingClientRect().top + scrollY);
      if (places.at(-1) !== top) places.push(top);
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
