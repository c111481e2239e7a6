import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { chooseInAccountMenu } from "../fixtures/menu.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat, rowsOf } from "./audit-page.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("the account menu", () => {
  it("opens on a phone too, where it is in the drawer, and is whole in the window", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page, complaints } = await site.open(owner, "/settings/keys", {
      viewport: { width: 375, height: 700 },
    });
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("button", { name: "Account menu" }).click();
    const menu = page.getByRole("menu");
    await menu.getByRole("menuitem", { name: "Sign out" }).waitFor();
    const box = await menu.boundingBox();
    expect(box?.y).toBeGreaterThanOrEqual(0);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(700);
    await page.keyboard.press("Escape");
    await chooseInAccountMenu(page, "Sign out");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a menu", () => {
  it("has the focus at its first or last item when the keyboard opens it, and gives it back to its button", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page, complaints } = await site.open(owner, "/settings/keys");
    const button = page.getByRole("button", { name: "Actions for test" });
    await button.focus();
    for (const [key, name] of [
      ["Enter", "Rotate"],
      ["Space", "Rotate"],
      ["ArrowDown", "Rotate"],
      ["ArrowUp", "Revoke"],
    ] as const) {
      await page.keyboard.press(key);
      await page.locator('[role="menuitem"]:focus').filter({ hasText: name }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator('button[aria-label="Actions for test"]:focus').waitFor();
    }
    await page.keyboard.press("Enter");
    await page.locator('[role="menuitem"]:focus').filter({ hasText: "Rotate" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByLabel("Type “test” to confirm").waitFor();
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a printed page", () => {
  it("has dark text and no navigation, also in the dark theme", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/credits");
    const heading = page.getByRole("heading", { level: 1 });
    const brightness = () =>
      heading.evaluate((element) =>
        Math.max(...(getComputedStyle(element).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)),
      );
    await chooseInAccountMenu(page, "Dark");
    await expect.poll(brightness).toBeGreaterThan(200);
    await page.keyboard.press("Escape");
    await page.emulateMedia({ media: "print" });
    await expect.poll(brightness).toBeLessThan(100);
    expect(await page.getByRole("navigation").count()).toBe(0);
    expect(await heading.isVisible()).toBe(true);
  });

  it("has tables, and no buttons, on A4 paper", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    // A4 within Chromium's margins. A window of this width shows cards.
    const { page } = await site.open(owner, "/settings/keys", { viewport: { width: 718, height: 1_000 } });
    const row = page.getByRole("row").last();
    const displayed = () => row.evaluate((element) => getComputedStyle(element).display);
    await row.waitFor();
    expect(await displayed()).not.toBe("table-row");
    await page.emulateMedia({ media: "print" });
    await expect.poll(displayed).toBe("table-row");
    expect(await page.getByRole("button", { name: "Create key" }).count()).toBe(0);
    const beyond = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    expect(beyond).toBe(0);
  });

  it("of the request log has all entries that are loaded, over several pages, and says that there are more", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 130);
    const { page } = await site.open(owner, "/audit");
    await rowsOf(page).first().waitFor();
    const inView = await rowsOf(page).count();
    await page.evaluate(() =>
      addEventListener("beforeprint", () => {
        const rows = document.querySelectorAll("tbody tr");
        Reflect.set(window, "printed", [rows.length, document.body.textContent]);
      }),
    );
    const paper = await page.pdf();

    const [rows, text] = await page.evaluate(() => Reflect.get(window, "printed") as [number, string]);
    expect(rows).toBe(100);
    expect(text).toContain("The newest 100 entries. The log has more: export it to have them all.");
    expect(paper.toString("latin1").match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(3);
    // The page on the screen has the rows in view, as before.
    await expect.poll(() => rowsOf(page).count()).toBe(inView);
  });

  it("says what its entries and figures are of, although it has no form and no backgrounds", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(site.service.baseUrl, owner.key);
    const viewport = { width: 718, height: 1_000 };
    const keyId = owner.key.slice(-4);
    const filters = `from=2020-01-01T00:00:00Z&key="${keyId}"&model=*echo*&status=2xx&source=127.0.0.0/8`;
    const { page } = await site.open(owner, `/audit?${filters}`, { viewport });
    await rowsOf(page).first().waitFor();
    await page.emulateMedia({ media: "print" });
    const period = "from 1 Jan 2020, 00:00 UTC";
    const others = `key “test” (…${keyId}), model contains “echo”, status 2xx, source 127.0.0.0/8`;
    await page.getByText(`Filters: ${period}, ${others}.`, { exact: true }).waitFor();
    expect(await page.getByRole("region", { name: "Filters" }).isVisible()).toBe(false);

    await page.emulateMedia({ media: "screen" });
    expect(await page.getByText("Filters: from").isVisible()).toBe(false);
    await page.goto("/?range=30d&by=model");
    const legend = page.getByRole("list", { name: "Series" }).first();
    await legend.waitFor();
    await page.emulateMedia({ media: "print" });
    const chosen = page.getByRole("group").getByRole("button").filter({ visible: true });
    await expect.poll(() => chosen.allTextContents()).toEqual(["30 days", "By model"]);
    const swatch = legend.locator("[aria-hidden]").first();
    expect(await swatch.evaluate((element) => getComputedStyle(element).printColorAdjust)).toBe("exact");
  });
});

describe.skipIf(!hasBrowser)("a choice among many values", () => {
  it("opens with its button and the arrows, closes with Escape, its button and outside, and gives back the focus", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(site.service.baseUrl, owner.key);
    const { page, complaints } = await site.open(owner, "/audit");
    const button = page.getByRole("combobox", { name: "Model", exact: true });
    const search = page.getByRole("combobox", { name: "Search models" });
    const isFocused = () => button.evaluate((element) => element === document.activeElement);
    await button.click();
    await search.waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    await expect.poll(isFocused).toBe(true);
    await page.keyboard.press("ArrowDown");
    await search.waitFor();
    await button.click();
    await search.waitFor({ state: "detached" });
    await button.click();
    await search.waitFor();
    await page.getByRole("heading", { name: "Request log" }).click();
    await search.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
    expect(complaints).toEqual([]);
  });
});
