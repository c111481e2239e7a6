import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInRow, toastOf } from "../fixtures/menu.ts";
import { openKeys, openSite } from "../fixtures/site.ts";
import { PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { PROCEDURES } from "./fail-procedure.ts";

const site = openSite();

/** Leaves queries without an answer from now on. Changes are answered. */
async function stallQueries(page: Page): Promise<void> {
  await page.route(PROCEDURES, (route) =>
    route.request().method() === "GET" ? undefined : route.fallback(),
  );
}

describe.skipIf(!hasBrowser)("a change that is made, while the page is not loaded again", () => {
  it("of a key closes its dialog, and the list has it as revoked", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await chooseInRow(page, "test", "Revoke");
    await page.getByLabel(/to confirm/).fill("test");
    await stallQueries(page);
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("row", { name: /^test/ }).getByText("revoked", { exact: true }).waitFor();
    await toastOf(page, "Key “test” revoked").waitFor();
  });

  it("of a key on its own page closes its dialog, and the page has it as revoked", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, `/settings/keys/${owner.id}`);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByLabel(/to confirm/).fill("test");
    await stallQueries(page);
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page
      .getByText(/^Revoked/)
      .first()
      .waitFor();
    expect(await page.getByRole("button", { name: "Revoke", exact: true }).count()).toBe(0);
  });

  it("of a token closes its dialog, and the list has it as revoked", async () => {
    const owner = await signUp(site.service.baseUrl);
    await owner.trpc.tokens.create.mutate({ name: "deploy" });
    const { page } = await site.open(owner, "/settings/tokens");
    await page.getByRole("button", { name: /deploy/ }).click();
    await stallQueries(page);
    await page.getByRole("dialog").getByRole("button", { name: "Revoke token" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: /^deploy/ })
      .getByText("revoked", { exact: true })
      .waitFor();
  });

  it("of a session takes it off the list", async () => {
    const owner = await signUp(site.service.baseUrl);
    const other = visit(site.service.baseUrl);
    await other.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    const { page } = await site.open(owner, "/settings/account");
    const signOut = page.getByRole("button", { name: /^Sign out session/ });
    await signOut.waitFor();
    await stallQueries(page);
    await signOut.click();
    await signOut.waitFor({ state: "detached" });
    await toastOf(page, "Session signed out").waitFor();
  });

  it("of a password leaves the form ready for the next", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/account");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(`${PASSWORD} again`);
    await stallQueries(page);
    const change = page.getByRole("button", { name: "Change password" });
    await change.click();
    await toastOf(page, "Password changed").waitFor();
    await expect.poll(() => change.getAttribute("aria-busy")).not.toBe("true");
  });
});
