import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { goToEnd, rowsOf } from "./audit-page.ts";
import { PROCEDURES } from "./fail-procedure.ts";

const site = openSite();

interface ListAnswer {
  readonly result: { data: { readonly json: { readonly entries?: []; readonly nextCursor: string | null } } };
}

/**
 * Answers pages of the log as those of slow searches: with so many entries each, the last of these sizes for all further ones. Returns a
 * function that tells whether the last answer came to the end of the log.
 */
async function slowSearch(page: Page, sizes: readonly number[]): Promise<() => boolean> {
  let asked = 0;
  let isAtEnd = false;
  await page.route(PROCEDURES, async (route) => {
    const url = new URL(route.request().url());
    const index = url.pathname.split("/").at(-1)?.split(",").indexOf("audit.list") ?? -1;
    if (index === -1) return route.fallback();
    const isBatch = url.searchParams.has("batch");
    const inputs = JSON.parse(url.searchParams.get("input") ?? "{}");
    const size = sizes[Math.min(asked++, sizes.length - 1)] ?? 0;
    (isBatch ? inputs[index] : inputs).json.limit = Math.max(1, size);
    url.searchParams.set("input", JSON.stringify(inputs));
    const response = await route.fetch({ url: url.href });
    const answers = await response.json();
    const answer: ListAnswer = isBatch ? answers[index] : answers;
    // What was searched without a match.
    const { nextCursor } = answer.result.data.json;
    if (size === 0) answer.result.data = { json: { entries: [], nextCursor } };
    isAtEnd = nextCursor === null;
    return route.fulfill({ response, json: answers });
  });
  return () => isAtEnd;
}

describe.skipIf(!hasBrowser)("a search of the log that takes long", () => {
  it("goes on while nothing is found, and then shows all that is", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 62);
    const { page, complaints } = await site.open(owner, "/keys");
    await slowSearch(page, [0, 0, 3, 0, 40, 7]);
    await page.getByRole("link", { name: "Request log" }).first().click();
    await rowsOf(page).first().waitFor();
    await goToEnd(page);
    // The three searched without a match count as no entries here.
    await page.getByText("59 entries in total.").waitFor();
    expect(await page.getByText("No requests yet").count()).toBe(0);
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("60");
    await page.keyboard.press("Home");
    expect(await rowsOf(page).count()).toBeGreaterThan(5);
    expect(complaints).toEqual([]);
  });

  it("tells that nothing matches only at the end of the log", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 4);
    const { page } = await site.open(owner, "/keys");
    const isAtEnd = await slowSearch(page, [0]);
    await page.getByRole("link", { name: "Request log" }).first().click();
    await page.getByText("No requests yet").waitFor();
    expect(isAtEnd()).toBe(true);
    expect(await rowsOf(page).count()).toBe(0);
  });
});
