import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { openSite } from "../fixtures/site.ts";
import { type Owner, signUp, signUpWithKey, type Visitor } from "../fixtures/user.ts";

const USD = 1_000_000_000n;

let catalog: CatalogFile;
let operator: Visitor;

const site = openSite(async () => {
  catalog = await writeCatalog({
    upstreams: { sandbox: { dialect: "sandbox" } },
    models: [
      {
        id: "paid",
        ownedBy: "test",
        prices: { inputUsdPerMTok: 100, outputUsdPerMTok: 100 },
        routes: [{ upstream: "sandbox", model: "echo" }],
      },
    ],
  });
  return startOperatedService({ env: { OSTIARY_CATALOG: catalog.file } });
});

beforeAll(async () => {
  if (hasBrowser) operator = await signInOperator(site.service.baseUrl);
});

afterAll(() => catalog?.[Symbol.asyncDispose]());

async function grant(owner: Owner, amountNanoUsd: bigint, reason: string): Promise<void> {
  const { id } = await owner.trpc.account.get.query();
  await operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd, reason });
}

async function spend(key: string): Promise<void> {
  const response = await sendChat(site.service.baseUrl, key, {
    model: "paid",
    messages: [{ role: "user", content: "hello" }],
  });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
}

async function openCredits(owner: Owner, options: BrowserContextOptions = {}) {
  const watched = await site.open(owner, "/settings/credits", options);
  await watched.page.getByRole("heading", { name: "Credits", exact: true }).waitFor();
  return watched;
}

/** What the statement says, line by line, to those who listen to it. */
async function linesOf(page: Page): Promise<readonly string[]> {
  await page.getByRole("table", { name: "Statement" }).waitFor();
  const rows = await page.locator("tbody tr").all();
  return Promise.all(rows.map((row) => row.ariaSnapshot()));
}

describe.skipIf(!hasBrowser)("the credits page", () => {
  it("tells the balance and what came in and went out, with its reasons", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await grant(owner, 20n * USD, "Invoice 17");
    await grant(owner, -USD / 2n, "Granted twice");
    const { page, complaints } = await openCredits(owner);
    await page.getByText("$24.50", { exact: true }).waitFor();
    const [newest, middle, oldest] = await linesOf(page);
    expect(newest).toMatch(/Adjustment Granted twice −\$0\.50"/);
    expect(middle).toMatch(/Grant Invoice 17 \+\$20\.00"/);
    expect(oldest).toMatch(/Grant starting credits \+\$5\.00"/);
    await page.getByText("To add credit, contact the operator").waitFor();
    expect(complaints).toEqual([]);
  });

  it("has one line with the complete sum of a day's charges, and leads to their requests", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    // More charges than a page of the ledger has.
    for (let request = 0; request < 205; request++) {
      await spend(owner.key);
      // Charged by now: each request with a charge of its own.
      await owner.trpc.credits.balance.query();
    }
    const { page } = await openCredits(owner);
    const [newest, ...rest] = await linesOf(page);
    expect(rest).toHaveLength(1);
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    const spent = (Number(5n * USD - balanceNanoUsd) / 1e9).toFixed(9).replace(/0+$/, "");
    expect(newest).toContain(`−$${spent}`);
    await page.getByRole("link", { name: "View requests" }).click();
    await page.getByRole("heading", { name: "Request log" }).waitFor();
    await page.getByRole("row", { name: /paid/ }).first().waitFor();
    const { searchParams } = new URL(page.url());
    const from = new Date(searchParams.get("from") ?? "").getTime();
    const lengthMs = new Date(searchParams.get("to") ?? "").getTime() - from;
    expect(from % lengthMs).toBe(0);
    expect(lengthMs).toBe(24 * 60 * 60_000);
  });

  it("warns on every page of the account when nothing is left, though nothing was spent", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await grant(owner, -5n * USD, "Gone");
    const { page } = await openCredits(owner);
    const banner = page.getByRole("alert").filter({ hasText: "No credit left." });
    for (const path of ["/settings/credits", "/", "/models", "/audit", "/settings/keys"]) {
      await page.goto(path);
      await banner.getByText("refused with 402").waitFor();
    }
    await page.goto("/");
    const panel = page.getByRole("region", { name: "Credit" });
    await panel.getByText("refused with 402").waitFor();
    const limits = page.getByRole("region", { name: "Limits" });
    const colourOf = (place: typeof panel) =>
      place.evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await colourOf(panel)).not.toBe(await colourOf(limits));
    expect(await violationsOf(page)).toEqual([]);
  });

  it("warns on every page of the account before nothing is left, also by what only today was spent", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    for (let request = 0; request < 4; request++) await spend(owner.key);
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    const spentNanoUsd = 5n * USD - balanceNanoUsd;
    // Enough for two more requests.
    await grant(owner, spentNanoUsd / 2n - balanceNanoUsd, "Used elsewhere");
    const { page } = await openCredits(owner);
    const banner = page.getByRole("status").filter({ hasText: "of credit left." });
    for (const path of ["/", "/models"]) {
      await page.goto(path);
      await banner.getByText("Lasts less than a day at today's spend.").waitFor();
    }
  });

  it("goes back through a long ledger, and keeps the keyboard's place at its end", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const give = (reason: string) =>
      operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: USD, reason });
    for (let batch = 0; batch < 41; batch++)
      await Promise.all(["a", "b", "c", "d", "e"].map((which) => give(`number ${batch}${which}`)));
    const { page } = await openCredits(owner);
    const lines = page.locator("tbody tr");
    await expect.poll(() => lines.count()).toBe(100);
    for (const count of [200, 206]) {
      await page.getByRole("button", { name: "Load more" }).focus();
      await page.keyboard.press("Enter");
      await expect.poll(() => lines.count()).toBe(count);
    }
    await page.getByText("No more entries").waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe("No more entries.");
  });

  it("says what went wrong, and heals on request", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await openCredits(owner);
    await page.route("**/trpc/**credits.statement**", (route) =>
      route.fulfill({
        status: 503,
        json: {
          error: {
            message: "Try again soon.",
            type: "server_error",
            param: null,
            code: "server_is_overloaded",
          },
        },
      }),
    );
    await page.reload();
    await page.getByRole("alert").getByText("Try again soon").first().waitFor();
    await page.unroute("**/trpc/**credits.statement**");
    // What was asked in the same breath failed with it, and one button heals one of them.
    const statement = page.getByRole("region", { name: "Statement" });
    await statement.getByRole("button", { name: "Try again" }).click();
    await page.getByText("starting credits").waitFor();
    await statement.getByRole("alert").waitFor({ state: "detached" });
  });

  it.each(["light", "dark"] as const)("passes axe, and fits a phone: %s", async (colorScheme) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await spend(owner.key);
    await grant(
      owner,
      3_141_592_653n,
      "A reason that goes on for so long that it does not fit a single line of a phone",
    );
    const { page, complaints } = await openCredits(owner, { colorScheme });
    await linesOf(page);
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await violationsOf(page)).toEqual([]);
    const fits = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
    expect(fits).toBe(true);
    expect(complaints).toEqual([]);
  });
});
