import { afterAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat } from "./audit-page.ts";

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 41 },
  completion_tokens_details: { reasoning_tokens: 7 },
};
const PRICES = {
  inputUsdPerMTok: "3",
  cachedInputUsdPerMTok: "0.3",
  cacheWriteUsdPerMTok: "3.75",
  cacheWrite1hUsdPerMTok: "6",
  audioInputUsdPerMTok: "40",
  imageInputUsdPerMTok: "3",
  outputUsdPerMTok: "15",
  audioOutputUsdPerMTok: "80",
};
const SPECIAL =
  "Also per 1M tokens: $3.75 cache write, $6.00 1 h cache write, $40.00 audio in, $80.00 audio out";

let upstream: ModelServer;
let catalog: CatalogFile;

const site = openSite(async () => {
  upstream = await startModelServer(({ response }) => {
    const choices = [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ choices, usage: USAGE }));
  });
  const routes = [{ upstream: "main", model: "inner" }];
  catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
    models: [
      { id: "acme/parts", prices: PRICES, routes },
      { id: "acme/plain", prices: { inputUsdPerMTok: "1", outputUsdPerMTok: "2" }, routes },
    ],
  });
  return startOperatedService({ env: { OSTIARY_CATALOG: catalog.file } });
});

afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

describe.skipIf(!hasBrowser)("prices of parts of tokens", () => {
  it.each([375, 1_100, 1_440])("are below a model that has them, on a page %s pixels wide", async (width) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page, complaints } = await site.open(owner, "/models", { viewport: { width, height: 800 } });
    await page.getByText(SPECIAL, { exact: true }).waitFor();
    expect(await page.getByText("Also per 1M tokens").count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("are below a model in the operator's catalog", async () => {
    const operator = await signInOperator(site.service.baseUrl);
    const { page, complaints } = await site.open(operator, "/operator/catalog");
    await page.getByText(SPECIAL, { exact: true }).waitFor();
    expect(await page.getByText("Also per 1M tokens").count()).toBe(1);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a request's tokens", () => {
  it("are told with the parts that it has", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const requestId = await chat(site.service.baseUrl, owner.key, "acme/parts");
    const { page } = await site.open(owner, `/audit?entry=${requestId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Prompt tokens").waitFor();
    const facts = await dialog.locator("dl > div").allTextContents();
    for (const fact of ["Prompt tokens100", "Cached30", "Written to cache41", "Reasoning7"]) {
      expect(facts).toContain(fact);
    }
    for (const absent of ["Written to cache for 1 h", "Audio", "Images"]) {
      expect(facts.filter((fact) => fact.startsWith(absent))).toEqual([]);
    }
    expect(await violationsOf(page)).toEqual([]);
  });
});
