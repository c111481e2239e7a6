import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { signOut } from "../fixtures/menu.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { loseAnswer, PROCEDURES, refuseByProxy } from "./fail-procedure.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("signing out, of which the answer was lost", () => {
  const databases = (page: Page) =>
    page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));

  /** A page of someone whose browser has kept chats. */
  async function pageWithChats(path: string): Promise<Page> {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    await page.goto(path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.evaluate(() => {
      indexedDB.open("playground").onsuccess = ({ target }) => (target as IDBOpenDBRequest).result.close();
    });
    await expect.poll(() => databases(page)).toEqual(["playground"]);
    return page;
  }

  async function expectSignedOut(page: Page): Promise<void> {
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByText("Your session has ended.").count()).toBe(0);
    await expect.poll(() => databases(page)).toEqual([]);
  }

  it("ends as signing out does, when the service answers again", async () => {
    const page = await pageWithChats("/models");
    await loseAnswer(page, "auth.signOut");
    await signOut(page);
    await expectSignedOut(page);
  });

  it("ends so everywhere, too, and deletes the chats as the dialog says", async () => {
    const page = await pageWithChats("/settings/account");
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await loseAnswer(page, "auth.signOutAll");
    await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await expectSignedOut(page);
  });

  it("does not say that one is still signed in, unless it was refused", async () => {
    const page = await pageWithChats("/models");
    await page.route(PROCEDURES, (route) => route.abort());
    await signOut(page);
    const alert = page.getByRole("alert");
    await alert.getByText("You may still be signed in. The service can't be reached.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await refuseByProxy(page, "auth.signOut", 403);
    await signOut(page);
    await alert.getByText("You are still signed in. A proxy or firewall").waitFor();
  });
});
