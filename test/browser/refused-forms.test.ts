import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { openSite } from "../fixtures/site.ts";
import { PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { failProcedure, PROCEDURES } from "./fail-procedure.ts";

const site = openSite(startOperatedService);

/** A page of 1280 × 1024 pixels that is enlarged to 400 %. */
const ENLARGED = { viewport: { width: 320, height: 256 } };

/** Whether the whole of it is in the window, and not only in the document. */
async function isInSight(part: Locator): Promise<boolean> {
  await part.waitFor();
  return part.evaluate(async (element) => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const { top, bottom, left } = element.getBoundingClientRect();
    const shown = document.elementFromPoint(left + 20, (top + bottom) / 2);
    return top >= 0 && bottom <= innerHeight && element.contains(shown);
  });
}

function alertOn(page: Page, text: string | RegExp): Locator {
  return page.getByRole("alert").filter({ hasText: text });
}

describe.skipIf(!hasBrowser)("what was wrong is in sight of who pressed a button", () => {
  it("of a form that is longer than the window, as a whole and at a field", async () => {
    const { baseUrl } = site.service;
    const owner = await signUp(baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { page } = await site.open(
      await signInOperator(baseUrl),
      `/operator/accounts/${id}?tab=access`,
      ENLARGED,
    );
    const rules = page.getByRole("region", { name: "IP rules" });
    const save = rules.getByRole("button", { name: "Save IP rules" });
    await rules.getByLabel("Networks").fill("10.0.0.0/33");
    await save.click();
    expect(await isInSight(alertOn(page, "10.0.0.0/33"))).toBe(true);
    await rules.getByLabel("Networks").fill("10.0.0.0/8");
    await failProcedure(page, "operator.accounts.setIpRules");
    await save.click();
    expect(await isInSight(alertOn(page, "The database is busy."))).toBe(true);
    expect(await rules.getByLabel("Networks").inputValue()).toBe("10.0.0.0/8");
  });

  it("of a dialog's first field, where its button is at the end", async () => {
    const { baseUrl } = site.service;
    const { email } = await signUp(baseUrl);
    const { page } = await site.open(await signInOperator(baseUrl), "/operator", ENLARGED);
    await page.getByRole("button", { name: "Create account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill(email);
    await dialog.getByLabel("Account name").fill("Twice");
    await dialog.getByRole("button", { name: "Create account" }).click();
    expect(await isInSight(alertOn(page, /./))).toBe(true);
  });

  it("of the first of several fields that lack something", async () => {
    const { page } = await site.page(ENLARGED);
    await page.goto("/sign-up");
    await page.getByRole("button", { name: "Create account" }).click();
    expect(await isInSight(alertOn(page, "This field is required.").first())).toBe(true);
  });

  it("of a change of one's password", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/account", ENLARGED);
    await failProcedure(page, "auth.changePassword");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(`${PASSWORD} 2`);
    await page.getByRole("button", { name: "Change password" }).click();
    expect(await isInSight(alertOn(page, "The database is busy."))).toBe(true);
  });

  it("of a session that could not be ended, before the list has come again", async () => {
    const owner = await signUp(site.service.baseUrl);
    for (let other = 0; other < 4; other++) {
      await visit(site.service.baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    }
    const { page } = await site.open(owner, "/settings/account", ENLARGED);
    const last = page.getByRole("button", { name: /^Sign out session/ }).last();
    await last.waitFor();
    await page.route(/auth\.sessions/, () => undefined);
    await failProcedure(page, "auth.endSession");
    await last.click();
    expect(await isInSight(alertOn(page, "The database is busy."))).toBe(true);
  });

  it("of signing out, on a page that was scrolled and from the menu that covers it", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/models", { viewport: { width: 375, height: 600 } });
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    await page.route(PROCEDURES, (route) => route.abort());
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Account menu" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    expect(await isInSight(alertOn(page, "You may still be signed in."))).toBe(true);
  });
});
