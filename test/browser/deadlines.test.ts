import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInRow } from "../fixtures/menu.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const site = openSite();

const LATE = "did not answer in time";

/** A page whose timeouts pass at once from when `hurry` is called. */
async function openHurried() {
  const watched = await site.page();
  await watched.page.addInitScript(() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout("hurried" in window ? 1 : ms);
  });
  const hurry = () => watched.page.evaluate(() => void Object.assign(window, { hurried: true }));
  const relax = () => watched.page.evaluate(() => void Reflect.deleteProperty(window, "hurried"));
  return { ...watched, hurry, relax };
}

/** Leaves requests without an answer. */
async function stall(page: Page, path: RegExp): Promise<void> {
  await page.route(
    (url) => path.test(url.pathname),
    () => {},
  );
}

describe.skipIf(!hasBrowser)("a page that gets no answer", () => {
  it("of the sign-in says so, and lets the user try again", async () => {
    const { page, hurry } = await openHurried();
    await stall(page, /auth\.signIn/);
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill("owner@example.com");
    await page.getByLabel("Password").fill("a long enough password");
    await hurry();
    await page.getByRole("button", { name: "Sign in" }).click();
    // There is no change that a reload could show, and it would empty the form.
    await page.getByRole("alert").getByText(`The service ${LATE}. Try again.`, { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Sign in" }).isEnabled()).toBe(true);
  });

  it("of the sign-up says that the account may exist, and how to find out", async () => {
    const { page, hurry } = await openHurried();
    await stall(page, /auth\.signUp/);
    await page.goto("/sign-up");
    await page.getByLabel("Account name").fill("Late");
    await page.getByLabel("E-mail").fill("late@example.com");
    await page.getByLabel("Password").fill("a long enough password");
    await hurry();
    await page.getByRole("button", { name: "Create account" }).click();
    await page
      .getByRole("alert")
      .getByText(`The service ${LATE}. The account may have been created. Try again`)
      .waitFor();
  });

  it("of a query says so in its place, and heals on request", async () => {
    const { page, hurry, relax } = await openHurried();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("link", { name: "Request log" }).click();
    await page.getByText("No requests yet").waitFor();
    await stall(page, /audit\.list/);
    await hurry();
    await page.getByLabel("Status").selectOption("4xx: refused");
    const alert = page.getByRole("alert").first();
    await alert.getByText(`The service ${LATE}. Try again.`, { exact: true }).waitFor();
    await relax();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText("No entry matches").waitFor();
  });

  it("of a query that is tried again keeps the error, and the focus where it is", async () => {
    const { page } = await site.page();
    await page.clock.install();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    await page.route(/keys\.list/, (route) =>
      route.fulfill({ status: 500, contentType: "text/html", body: "<h1>Error</h1>" }),
    );
    // What is stale by then is asked for again.
    await page.clock.fastForward("01:00");
    await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
    const again = page.getByRole("alert").getByRole("button", { name: "Try again" }).first();
    await again.waitFor();
    await stall(page, /keys\.list/);
    const asked = page.waitForRequest(/keys\.list/);
    await again.click();
    await asked;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    expect(await again.getAttribute("aria-busy")).toBe("true");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("Try again");
  });

  it("of a change says how to see whether it was made", async () => {
    const { page, hurry } = await openHurried();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    await chooseInRow(page, "test", "Revoke");
    await page.getByLabel(/to confirm/).fill("test");
    await stall(page, /keys\.revoke/);
    await hurry();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").getByText("reload the page first").waitFor();
  });

  it("of the creation of a key says how to see the key, which a reload would lose", async () => {
    const { page, hurry } = await openHurried();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("late");
    await stall(page, /keys\.create/);
    await hurry();
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const alert = page.getByRole("dialog").getByRole("alert");
    await alert.getByText(`${LATE}. The key may have been created. Try again here`).waitFor();
  });

  it("of the file of a part says so", async () => {
    const { page, hurry } = await openHurried();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("link", { name: "Request log" }).click();
    await page.getByRole("heading", { name: "Request log" }).waitFor();
    await stall(page, /\/assets\/ExportDialog|^\/$/);
    await hurry();
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("alert").getByText("can't be reached").waitFor();
  });

  it("to whether the service is back asks again", async () => {
    const { page, hurry, relax } = await openHurried();
    await goToKeys(page, await signUpWithKey(site.service.baseUrl));
    let probes = 0;
    await page.route("**/trpc/**", (route) => {
      if (!route.request().url().endsWith("service.info")) return route.abort();
      probes++;
      // The first gets no answer.
      return probes === 1 ? undefined : route.fallback();
    });
    await page.getByRole("link", { name: "Credits" }).click();
    const lost = page.getByText("Connection lost");
    await lost.waitFor();
    await hurry();
    await expect.poll(() => probes).toBeGreaterThanOrEqual(1);
    await relax();
    await page.unroute("**/trpc/**");
    await lost.waitFor({ state: "detached" });
  });

  it("of the documentation's search says so", async () => {
    const { page, hurry } = await openHurried();
    await stall(page, /search.*\.json/);
    await page.goto("/docs");
    await hurry();
    await page.getByRole("searchbox").fill("key");
    await page.getByText("The search could not be loaded. Try again.").waitFor();
  });
});
