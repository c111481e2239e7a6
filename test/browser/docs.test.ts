import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { openSite } from "../fixtures/site.ts";
import { signUp } from "../fixtures/user.ts";

const site = openSite();

const PAGES = [
  "/docs",
  "/docs/how-to/connect-clients",
  "/docs/reference/sdk-comparison",
  "/docs/api",
  "/docs/api/api-keys",
  "/docs/api/messages",
];

/** Pages of an account that has nothing yet, with the documents that they lead to. */
const LEARN_MORE = [
  ["/settings/keys", "Send your first request"],
  ["/settings/tokens", "HTTP API"],
  ["/audit", "HTTP API"],
  ["/connect", "Connect clients"],
] as const;

/** What is folded up takes room, too, once a reader opens it. */
async function openDetails(page: Page): Promise<void> {
  await page.locator("details").evaluateAll((all) => {
    for (const details of all) details.setAttribute("open", "");
  });
}

describe.skipIf(!hasBrowser)("the documentation in a browser", () => {
  it.each(["light", "dark"] as const)(
    "meets WCAG 2.2 AA and the content policy in the %s theme",
    async (colorScheme) => {
      const { page, complaints } = await site.page({ colorScheme });
      for (const path of PAGES) {
        await page.goto(path);
        await page.getByRole("searchbox").waitFor();
        expect(await violationsOf(page), path).toEqual([]);
      }
      expect(complaints).toEqual([]);
    },
  );

  it("fits a phone, whose menu leads to every page", async () => {
    const { page, complaints } = await site.page({ viewport: { width: 375, height: 800 } });
    for (const path of PAGES) {
      await page.goto(path);
      await page.getByRole("button", { name: "Menu" }).waitFor();
      await openDetails(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(375);
    }
    const sidebar = page.getByRole("navigation", { name: "Documentation" });
    expect(await sidebar.isVisible()).toBe(false);
    await page.getByRole("button", { name: "Menu" }).click();
    expect(await violationsOf(page)).toEqual([]);
    await sidebar.getByRole("link", { name: "Add a model" }).click();
    await page.waitForURL("**/docs/how-to/add-a-model");
    expect(complaints).toEqual([]);
  });

  it("is printed without what leads elsewhere, and with the whole of its code and tables", async () => {
    // A4 within Chromium's margins.
    const { page } = await site.page({ viewport: { width: 718, height: 1_000 } });
    for (const path of ["/docs/reference/errors", "/docs/how-to/connect-clients", "/docs/api"]) {
      await page.goto(path);
      await page.getByRole("searchbox").waitFor();
      await openDetails(page);
      await page.emulateMedia({ media: "print" });
      expect(await page.getByRole("banner").or(page.getByRole("navigation")).count(), path).toBe(0);
      expect(await page.getByRole("button").count(), path).toBe(0);
      const cut = await page
        .locator("pre, .scrolling")
        .evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
      expect(cut, path).toBe(0);
      await page.emulateMedia({ media: "screen" });
    }
  });

  it.each([375, 768])("says beside a name what it means, in a window of %i pixels", async (width) => {
    const { page } = await site.page({ viewport: { width, height: 800 } });
    for (const path of ["/docs/reference/configuration", "/docs/reference/command-line", "/docs/api"]) {
      await page.goto(path);
      const cut = await page
        .locator(".scrolling")
        .evaluateAll((tables) => tables.filter((each) => each.scrollWidth > each.clientWidth + 20).length);
      expect(cut, path).toBe(0);
    }
  });

  it("copies code, with the address of the service in the API reference", async () => {
    const { page, complaints } = await site.page();
    await page.goto("/docs/api/chat-completions");
    const request = page.locator("figure.code").first();
    await request.getByRole("button", { name: "Copy" }).click();
    await request.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(/^curl /);
    expect(copied).toContain(`${site.service.baseUrl}/v1/chat/completions`);
    expect(complaints).toEqual([]);
  });

  it("finds a section by words, with the keyboard alone", async () => {
    const { page, complaints } = await site.page();
    await page.goto("/docs");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("rotate a key without downtime");
    await page.locator(".results a").first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/docs/tutorials/rotate-a-key*");
    await page.getByRole("searchbox").fill("zzzz");
    await page.getByText("Nothing found").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Nothing found").waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
  });

  it("finds a word in its other forms", async () => {
    const { page } = await site.page();
    await page.goto("/docs");
    for (const [typed, title] of [
      ["streaming", "Stream an answer"],
      ["rotating", "Rotate a key without downtime"],
      ["retry", "The SDK's retries do no work twice"],
    ] as const) {
      await page.getByRole("searchbox").fill(typed);
      await page.locator(".results").getByText(title, { exact: true }).first().waitFor();
    }
  });

  it("finds words before parts of other ones, and shows them whole on a phone", async () => {
    const { page } = await site.page({ viewport: { width: 375, height: 800 } });
    await page.goto("/docs");
    await page.getByRole("searchbox").fill("base url");
    await page.locator(".results a").first().waitFor();
    // Not pages about a database.
    const found = await page.locator(".results a").allInnerTexts();
    expect(found.slice(0, 3).join("\n")).toContain("Connect clients");
    const box = await page.locator(".found").boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(375);
  });

  it("is linked to from the navigation, and from pages that are empty", async () => {
    const visitor = await signUp(site.service.baseUrl);
    const { page, complaints } = await site.open(visitor, "/settings/keys");
    for (const [path, document] of LEARN_MORE) {
      await page.goto(path);
      await page.getByRole("link", { name: /^Learn more about/ }).click();
      await page.getByRole("heading", { level: 1, name: document }).waitFor();
      const { hash } = new URL(page.url());
      if (hash !== "") expect(await page.locator(hash).count(), page.url()).toBe(1);
    }
    await page.goto("/settings/keys");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Docs" }).click();
    await page.getByRole("heading", { level: 1, name: "Documentation" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("has the theme that was chosen, here or in the dashboard", async () => {
    const { page, complaints } = await site.page({ colorScheme: "light" });
    await page.goto("/docs");
    await page.getByRole("button", { name: "Dark theme" }).click();
    await page.goto("/docs/api");
    await page.getByRole("button", { name: "Light theme" }).waitFor();
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    expect(await theme()).toBe("dark");
    await page.getByRole("link", { name: "Dashboard" }).first().click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await theme()).toBe("dark");
    expect(complaints).toEqual([]);
  });
});
