import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInAccountMenu, signOut } from "../fixtures/menu.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import { messageOn, say } from "./playground-site.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite();

/** A further tab of a page's browser. */
async function openTab(page: Page, path: string): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(path);
  return tab;
}

function storedDatabases(page: Page): Promise<readonly (string | undefined)[]> {
  return page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
}

function themeOf(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.documentElement.dataset.theme);
}

async function saveView(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "View", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Save current filters as").fill(name);
  await dialog.getByRole("button", { name: "Save view" }).click();
  await dialog.getByRole("button", { name: `Delete ${name}` }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
}

describe.skipIf(!hasBrowser)("two tabs of a browser", () => {
  it("are signed out together, and neither keeps a chat of the playground", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/playground?model=sandbox/echo");
    await say(page, "for my eyes only");
    await messageOn(page, 2).getByText("for my eyes only").waitFor();
    await expect.poll(() => storedDatabases(page)).toEqual(["playground"]);

    const other = await openTab(page, "/models");
    await signOut(other);
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await expect.poll(() => storedDatabases(page)).toEqual([]);
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("for my eyes only");
  });

  it("show nothing of a user after another one has signed in", async () => {
    const [owner, next] = [await signUpWithKey(site.service.baseUrl), await signUp(site.service.baseUrl)];
    const { page } = await site.open(owner, "/settings/keys");
    await page.getByRole("row", { name: /^test/ }).waitFor();
    const other = await openTab(page, "/sign-in");
    await fillSignIn(other, next);
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Account menu" }).filter({ hasText: next.email }).waitFor();
    expect(await page.getByText(owner.email).count()).toBe(0);
  });

  it("stay where they are when the same user signs in again", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/keys");
    await page.getByRole("row", { name: /^test/ }).waitFor();
    const asked = page.waitForResponse((response) => response.url().includes("auth.me"));
    const other = await openTab(page, "/sign-in");
    await fillSignIn(other, owner);
    await (await asked).finished();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    expect(new URL(page.url()).pathname).toBe("/settings/keys");
  });

  it("have the theme that was chosen in one of them, also in their menus", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/models");
    const other = await openTab(page, "/settings/credits");
    await other.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
    await other.keyboard.press("Control+k");
    await other.getByRole("combobox", { name: "Search everything" }).fill("dark theme");
    await other.keyboard.press("Enter");
    await expect.poll(() => themeOf(page)).toBe("dark");
    for (const tab of [page, other]) {
      await tab.getByRole("button", { name: "Account menu" }).click();
      await tab.getByRole("menuitemradio", { name: "Dark", checked: true }).waitFor();
      await tab.keyboard.press("Escape");
    }
    await chooseInAccountMenu(page, "Auto");
    await expect.poll(() => themeOf(other)).toBeUndefined();
  });

  it("save views of the request log side by side", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/audit?status=error");
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    const other = await openTab(page, "/audit?status=4xx");
    await other.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    await saveView(page, "errors");
    await saveView(other, "refused");
    for (const tab of [page, other]) {
      const views = tab.getByRole("list", { name: "Saved views" }).getByRole("button");
      await expect.poll(() => views.allTextContents()).toEqual(["errors", "refused"]);
    }
  });
});

describe.skipIf(!hasBrowser)("the chosen theme", () => {
  it("is that of a page before its script has run", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/models");
    await chooseInAccountMenu(page, "Dark");
    await expect.poll(() => themeOf(page)).toBe("dark");
    await page.route(/\/assets\/(?:index|sign-in)-[^/]*\.js$/, (route) => route.abort());
    for (const path of ["/models", "/sign-in"]) {
      await page.goto(path);
      expect(await themeOf(page), path).toBe("dark");
    }
  });
});

describe.skipIf(!hasBrowser)("saved views", () => {
  it("are not dropped for a new one where there is no space", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.page();
    await signInBy(page, owner);
    await page.goto("/audit");
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    await saveView(page, "view 0");
    await page.evaluate(() => {
      const [name = ""] = Object.keys(localStorage).filter((each) => each.startsWith("audit-views-"));
      const views = Array.from({ length: 20 }, (_, index) => ({ name: `view ${index}`, search: {} }));
      localStorage.setItem(name, JSON.stringify(views));
    });
    await page.reload();
    await page.getByRole("button", { name: "View", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Save current filters as").fill("one more");
    await dialog.getByRole("button", { name: "Save view" }).click();
    await dialog.getByText("There are 20 saved views. Delete one first.").waitFor();
    await dialog.getByRole("button", { name: "Delete view 3" }).click();
    await dialog.getByRole("button", { name: "Save view" }).click();
    await dialog.getByRole("button", { name: "Delete one more" }).waitFor();
    await dialog.getByRole("button", { name: "Delete view 0" }).waitFor();
  });
});
