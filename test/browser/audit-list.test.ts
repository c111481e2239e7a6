import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite } from "../fixtures/site.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import { chat, exported, focusedRow, goToEnd, rowOf, rowsOf, startExport } from "./audit-page.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("the audit log", () => {
  it("loads more by itself as one scrolls, to the last entry, and only has the rows that are in view", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 2_000);
    const { page, complaints } = await site.open(owner, "/audit");
    await rowsOf(page).first().waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("-1");
    await goToEnd(page);
    await page.getByText("2,000 entries in total.").waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("2001");
    expect(await rowsOf(page).count()).toBeLessThan(80);
    const [oldest = ""] = (await exported(site.service.baseUrl, owner.key, "format=ndjson")).split("\n");
    const last = rowOf(page, JSON.parse(oldest).request_id);
    expect(await last.getAttribute("aria-rowindex")).toBe("2001");
    // The first one is there again, in its place.
    await page.keyboard.press("Home");
    await expect.poll(() => focusedRow(page)).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("is gone through with the keyboard, and the row that one is at is in view", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 120);
    const { page } = await site.open(owner, "/audit");
    await rowsOf(page).first().waitFor();
    await page.getByRole("slider", { name: "Values of the histogram" }).focus();
    await page.keyboard.press("Tab");
    await expect.poll(() => focusedRow(page)).toBe(0);
    for (let press = 0; press < 20; press++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => focusedRow(page)).toBe(20);
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => focusedRow(page)).toBe(19);
    await page.keyboard.press("PageDown");
    await expect.poll(() => focusedRow(page)).toBeGreaterThan(22);
    await page.keyboard.press("PageUp");
    await expect.poll(() => focusedRow(page)).toBe(19);

    // Scrolled away from it, the focus is not lost.
    await page.locator(".EntryFrame_frame").evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }));
    await page.getByText("120 entries in total.").waitFor();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => focusedRow(page)).toBe(20);
  });

  it("tells at the end of the list that more could not be loaded, and keeps those that are there", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 700);
    const { page } = await site.open(owner, "/audit");
    await rowsOf(page).first().waitFor();
    const message = "The service cannot handle this request at the moment. Try again shortly.";
    const error = { message, type: "server_error", param: null, code: "server_is_overloaded" };
    const lists = (url: URL) => url.pathname.includes("audit.list");
    await page.route(lists, (route) => route.fulfill({ status: 503, json: { error } }));
    await rowsOf(page).first().focus();
    const alert = page.getByRole("alert");
    await expect
      .poll(async () => {
        await page.keyboard.press("End");
        return alert.isVisible();
      })
      .toBe(true);
    await page.locator(".EntryFrame_frame").evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }));
    await alert.getByText(message).waitFor();
    const inView = await alert.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= window.innerHeight;
    });
    expect(inView).toBe(true);
    expect(await rowsOf(page).count()).toBeGreaterThan(5);
    await page.unroute(lists);
    await page.getByRole("button", { name: "Try again" }).click();
    await goToEnd(page);
    await page.getByText("700 entries in total.").waitFor();
  });

  it("shows every column on a wide screen, however long a key's name is", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "n".repeat(64) });
    await chat(site.service.baseUrl, key);
    const { page } = await site.open(owner, "/audit", { viewport: { width: 1280, height: 800 } });
    const row = page.getByRole("row", { name: /sandbox\/echo/ });
    await row.getByText("POST /v1/chat/completions").waitFor();
    const beyond = await row.evaluate((element) => {
      const frame = element.closest(".EntryFrame_frame") as HTMLElement;
      const cells = [...element.children].filter(
        (cell) => cell.getBoundingClientRect().right > frame.getBoundingClientRect().right,
      );
      return [frame.scrollWidth - frame.clientWidth, cells.length];
    });
    expect(beyond).toEqual([0, 0]);
  });

  it("has cards on a phone, and no sideways scrolling", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 300);
    await chat(site.service.baseUrl, owner.key, "no/such-model");
    const { page } = await site.open(owner, "/audit", {
      viewport: { width: 375, height: 800 },
      hasTouch: true,
    });
    const card = rowsOf(page).first();
    await card.getByText("model_not_found").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    expect(await rowsOf(page).count()).toBeLessThan(40);
    await card.tap();
    await page.getByRole("dialog").getByText("Refused by the service.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).tap();
    expect(await page.getByLabel("Status").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Filters" }).tap();
    // Of smaller text, the browser would enlarge the page.
    const sizes = await page.locator("main :is(input, select)").evaluateAll((fields) => {
      return fields.map((field) => getComputedStyle(field).fontSize);
    });
    expect(new Set(sizes)).toEqual(new Set(["16px"]));
    await page.getByLabel("Status").selectOption("4xx: refused");
    await page.getByRole("button", { name: "Filters (1)" }).waitFor();
    await page.getByRole("row", { name: /429/ }).first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  });

  it("says so when there is nothing yet", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    await page.getByRole("link", { name: "Send a request" }).click();
    await page.getByRole("heading", { name: "Quickstart" }).waitFor();
  });
});

describe.skipIf(!hasBrowser).each(["light", "dark"] as const)("with %s colours", (colorScheme) => {
  it("axe finds nothing wrong with the list, the filters, an entry and the export", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 200);
    const { page, complaints } = await site.open(owner, "/audit?status=4xx&live=true", { colorScheme });
    await page.getByText("Connected").waitFor();
    await rowsOf(page).first().focus();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Refused by the service.").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await startExport(page, "CSV");
    await page.getByRole("dialog").getByText("entries are in").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);

    await page.setViewportSize({ width: 375, height: 800 });
    await page.goto("/audit?source=nonsense");
    await page.getByRole("button", { name: "Filters (1)" }).click();
    await page.getByText("Must be an IP address").waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});
