import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { goToKeys, openKeys, openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { PROCEDURES } from "./fail-procedure.ts";

const site = openSite();

const PAGE_CODE = /\/assets\/(?:Credits|Models)-[^/]*\.js$/;

describe.skipIf(!hasBrowser)("a page whose code can't be loaded", () => {
  it("fails beside the navigation, and heals by itself when the service answers again", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.context().setOffline(true);
    await page.getByRole("link", { name: "Credits" }).click();
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    await page.getByRole("alert").getByText("The service can't be reached").waitFor();
    // What is loaded can be gone to.
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await page.getByRole("link", { name: "Credits" }).click();
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    await page.context().setOffline(false);
    await page.getByRole("heading", { name: "Credits" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/settings/credits");
  });

  it("heals by itself when the service answers again before the failure is shown", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    let heal = () => {};
    const healed = new Promise<void>((resolve) => {
      heal = resolve;
    });
    await page.route(PROCEDURES, async (route) => {
      if (!route.request().url().includes("credits.")) return route.continue();
      // The page waits for its data, and is shown as failed after the connection has come back.
      await healed;
      await route.continue();
    });
    await page.route(PAGE_CODE, (route) => route.abort());
    await page.route(
      (url) => url.pathname === "/",
      (route) => route.abort(),
    );
    await page.getByRole("link", { name: "Credits" }).click();
    await page.getByText("Connection lost").waitFor();
    await page.unroute(PAGE_CODE);
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    heal();
    await page.getByRole("heading", { name: "Credits", level: 1 }).waitFor();
  });

  it("is tried again on request", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.route("**/*", (route) =>
      PAGE_CODE.test(route.request().url()) || new URL(route.request().url()).pathname === "/"
        ? route.abort()
        : route.continue(),
    );
    await page.getByRole("link", { name: "Models" }).click();
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.unrouteAll();
    await again.click();
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
  });

  it("offers to reload after an upgrade, when the service no longer has it", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.route(PAGE_CODE, (route) => route.fulfill({ status: 404, body: "Not found" }));
    const upgraded = '<!doctype html><script type="module" src="/assets/index-upgraded.js"></script>';
    await page.route(
      (url) => url.pathname === "/",
      (route) => route.fulfill({ contentType: "text/html", body: upgraded }),
    );
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("alert").getByText("A new version of the dashboard is available").waitFor();
    expect(await page.getByRole("link", { name: "Credits" }).isVisible()).toBe(true);
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
  });

  it("was loaded ahead, once the first page was at rest", async () => {
    const { page } = await site.page();
    await page.clock.install();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    const ahead = page.waitForResponse((response) => response.url().includes("/assets/Credits-"));
    await page.clock.runFor(5_000);
    await ahead;
    await page.waitForLoadState("networkidle");
    await page.route("**/assets/**", (route) => route.abort());
    for (const name of ["Credits", "Models", "Overview"]) {
      await page.getByRole("link", { name }).click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
    }
  });

  it("and a dialog's, say so and heal by themselves", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("link", { name: "Request log" }).click();
    await page.getByRole("heading", { name: "Request log" }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("alert").getByText("can't be reached").waitFor();
    await page.context().setOffline(false);
    await dialog.getByRole("heading", { name: "Export request log" }).waitFor();
  });
});

/** Answers as the service of a later version does, which has none of the files of this one that the page has not loaded yet. */
async function upgrade(page: Page): Promise<void> {
  const upgraded = '<!doctype html><script type="module" src="/assets/index-upgraded.js"></script>';
  await page.route("**/assets/**", (route) => route.fulfill({ status: 404, body: "Not found" }));
  await page.route(
    (url) => url.pathname === "/",
    (route) => route.fulfill({ contentType: "text/html", body: upgraded }),
  );
}

describe.skipIf(!hasBrowser)("a menu, a choice or a message whose code is gone after an upgrade", () => {
  it("says that the dashboard is to be loaded again, which heals it", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await upgrade(page);
    const line = page.getByRole("status").filter({ hasText: "A new version of the dashboard is available" });
    expect(await line.count()).toBe(0);
    await page.getByRole("button", { name: "Actions for test" }).click();
    await line.waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.unrouteAll();
    await line.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("button", { name: "Actions for test" }).click();
    await page.getByRole("menuitem", { name: "Revoke" }).waitFor();
    expect(await line.count()).toBe(0);
  });

  it("says so in a narrow window, where the menu of pages is what is gone", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/keys", { viewport: { width: 375, height: 700 } });
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await upgrade(page);
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("status").getByText("A new version of the dashboard is available").waitFor();
    const { width } = (await page.getByRole("button", { name: "Reload" }).boundingBox()) ?? { width: 0 };
    expect(width).toBeGreaterThan(40);
  });
});
