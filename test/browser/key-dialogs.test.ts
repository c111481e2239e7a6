import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { chooseInRow, toastOf } from "../fixtures/menu.ts";
import { openKeys, openSite, signInBy } from "../fixtures/site.ts";
import { PASSWORD, signUp, signUpWithKey } from "../fixtures/user.ts";
import { loseAnswer } from "./fail-procedure.ts";

const site = openSite();

/** A page that shows a new key. */
async function pageWithNewKey(): Promise<Page> {
  const { page } = await site.page();
  await page.clock.install();
  await signInBy(page, await signUp(site.service.baseUrl));
  // By a link, so that there is a page to go back to.
  await page.goto("/models");
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("fresh");
  await page.keyboard.press("Enter");
  await page.getByTestId("key-string").waitFor();
  return page;
}

/** What the focused element says to a person. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element === null || element === document.body
      ? "nothing"
      : element.id || (element.textContent ?? "");
  });
}

describe.skipIf(!hasBrowser)("a key that is shown", () => {
  it("stays until its owner says that they have it, wherever the focus is", async () => {
    const page = await pageWithNewKey();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    for (let press = 0; press < 4; press++) await page.keyboard.press("Escape");
    // Beside the dialog, where other dialogs are dismissed.
    await page.mouse.click(5, 5);
    await page.getByTestId("key-string").waitFor();
    await page.getByLabel("I have stored it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  it("is not lost by loading the page again, before its owner was asked", async () => {
    const page = await pageWithNewKey();
    const shown = await page.getByTestId("key-string").textContent();
    const question = page.waitForEvent("dialog");
    // Not awaited: the page stays, and nothing is loaded.
    page.reload().catch(() => {});
    const asked = await question;
    expect(asked.type()).toBe("beforeunload");
    await asked.dismiss();
    expect(await page.getByTestId("key-string").textContent()).toBe(shown);
  });

  it("is not lost by going back", async () => {
    const page = await pageWithNewKey();
    const shown = await page.getByTestId("key-string").textContent();
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          addEventListener("popstate", resolve, { once: true });
          history.back();
        }),
    );
    await expect.poll(() => new URL(page.url()).pathname).toBe("/settings/keys");
    expect(await page.getByTestId("key-string").textContent()).toBe(shown);
  });

  it("is not lost with a session that ends meanwhile, and signing in comes after", async () => {
    const page = await pageWithNewKey();
    const shown = await page.getByTestId("key-string").textContent();
    await page.context().clearCookies();
    // Someone goes to their secret manager and comes back: what is stale by then is asked for again.
    const refused = page.waitForResponse(
      async (response) =>
        // A list that was asked for before may have been dropped, and has no text then.
        response.url().includes("keys.list") &&
        (await response.text().catch(() => "")).includes("not_signed_in"),
    );
    await page.clock.fastForward("01:00");
    await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
    await refused;
    // The answer has been read when the page has had its turn.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    expect(await page.getByTestId("key-string").textContent()).toBe(shown);
    await page.getByLabel("I have stored it").click();
    // From here on nothing holds the page back: it may be gone before the button is pressed, or while it is.
    const done = page.evaluate(() => {
      for (const button of document.querySelectorAll("button"))
        if (button.textContent === "Done") button.click();
    });
    await done.catch((error: Error) => expect(error.message).toContain("navigation"));
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a secret whose answer was lost", () => {
  it("of a key can be seen by trying again, which creates no second key", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const page = await openKeys(site, owner);
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("lost");
    await loseAnswer(page, "keys.create");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog
      .getByRole("alert")
      .getByText("Try again here to see it: no second key is created.")
      .waitFor();
    // The service gives the first answer some seconds to arrive.
    await using sql = await openDatabaseOf(site.service);
    await sql`update keys set issued_at = issued_at - interval '1 minute' where name = 'lost'`;
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByTestId("key-string").waitFor();
    const { keys } = await owner.trpc.keys.list.query();
    expect(keys.map(({ name }) => name).toSorted()).toEqual(["lost", "test"]);
  });

  it("of a key can be seen by trying again, also after signing in again", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const page = await openKeys(site, owner);
    const cookies = await page.context().cookies();
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    const name = dialog.getByLabel("Name", { exact: true });
    const create = dialog.getByRole("button", { name: "Create key" });
    await name.fill("lost");
    await loseAnswer(page, "keys.create");
    await create.click();
    await dialog.getByRole("alert").getByText("The key may have been created.").waitFor();
    await page.context().clearCookies();
    await create.click();
    await page.getByText("Your session has ended.").waitFor();
    await page.context().addCookies(cookies);
    await page.goto("/settings/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await expect.poll(() => name.inputValue()).toBe("lost");
    await using sql = await openDatabaseOf(site.service);
    await sql`update keys set issued_at = issued_at - interval '1 minute' where name = 'lost'`;
    await create.click();
    await page.getByTestId("key-string").waitFor();
    const { keys } = await owner.trpc.keys.list.query();
    expect(keys.map((key) => key.name).toSorted()).toEqual(["lost", "test"]);
  });

  it.each(["/connect", "/"])(
    "of a key that is created on a page can be seen by trying again: %s",
    async (path) => {
      const owner = await signUp(site.service.baseUrl);
      const { page } = await site.open(owner, path);
      const create = page.getByRole("button", { name: "Create key" });
      await page.getByLabel("Key name").fill("lost");
      await loseAnswer(page, "keys.create");
      const listed = page.waitForResponse(/keys\.list/);
      await create.click();
      await page
        .getByRole("alert")
        .getByText("The key may have been created. Try again here to see it")
        .waitFor();
      // The list has the key by now, and the form is still there.
      await listed;
      await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve))));
      expect(await page.getByLabel("Key name").inputValue()).toBe("lost");
      await using sql = await openDatabaseOf(site.service);
      await sql`update keys set issued_at = issued_at - interval '1 minute' where name = 'lost'`;
      await create.click();
      await page.getByTestId("key-string").waitFor();
      const { keys } = await owner.trpc.keys.list.query();
      expect(keys.map(({ name }) => name)).toEqual(["lost"]);
    },
  );

  it("of a token can't be seen, and its owner learns that there may be one to revoke", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("lost");
    await loseAnswer(page, "tokens.create");
    await dialog.getByRole("button", { name: "Create token" }).click();
    await dialog.getByRole("alert").getByText("The token may have been created. Look for it").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Revoke lost" }).waitFor();
  });

  it("of a password is one or the other, and its user learns how to find out", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/settings/account");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill("another password");
    await loseAnswer(page, "auth.changePassword");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("alert").getByText("The password may have been changed.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a key whose name can be written in several ways", () => {
  it("is revoked by its name as it is seen", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.create.mutate({ name: "blue  green\u00a0caf\u00e9" });
    const page = await openKeys(site, owner);
    await page.getByRole("button", { name: /^Actions for blue/ }).click();
    await page.getByRole("menuitem", { name: "Revoke" }).click();
    await page.getByLabel(/to confirm/).fill("blue green cafe\u0301");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { keys } = await owner.trpc.keys.list.query();
    expect(keys.find(({ name }) => name.startsWith("blue"))?.state).toBe("revoked");
  });
});

describe.skipIf(!hasBrowser)("the name of a key that is typed on a page", () => {
  it("is there after signing in again, if the session has ended", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/connect");
    const cookies = await page.context().cookies();
    const name = page.getByLabel("Key name");
    await name.fill("billing");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Your session has ended.").waitFor();
    await page.context().addCookies(cookies);
    await page.goto("/connect");
    await expect.poll(() => name.inputValue()).toBe("billing");
  });
});

describe.skipIf(!hasBrowser)("a form that lacks something", () => {
  it("says so at the field, which has the focus, until it is changed", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const error = dialog.getByRole("alert");
    await error.getByText("This field is required.").waitFor();
    const name = page.getByLabel("Name", { exact: true });
    expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
    expect(await name.getAttribute("aria-invalid")).toBe("true");
    await name.fill("given");
    await error.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByTestId("key-string").waitFor();
  });

  it("has the focus in its first field that lacks something", async () => {
    const { page } = await site.page();
    await page.goto("/sign-up");
    await page.getByLabel("Account name").fill("Someone");
    await page.getByLabel("E-mail").fill("no address");
    await page.getByLabel("Password").fill("short");
    await page.keyboard.press("Enter");
    await page.getByText("Enter a valid e-mail address.").waitFor();
    await page.getByText("Enter at least 10 characters.").waitFor();
    expect(await page.getByLabel("E-mail").evaluate((input) => input === document.activeElement)).toBe(true);
  });
});

describe.skipIf(!hasBrowser)("the keyboard", () => {
  it("stays where it was when a form is refused", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("test");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page.getByRole("alert").waitFor();
    expect(await focused(page)).toBe("Create key");
  });

  it("is led to the page that a link leads to", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("link", { name: "Credits" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Credits" }).waitFor();
    await expect.poll(() => focused(page)).toBe("main");
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("echo");
    await expect.poll(() => new URL(page.url()).searchParams.get("search")).toBe("echo");
  });

  it("is not lost when the button that opened a dialog is gone", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await chooseInRow(page, "test", "Revoke");
    await page.getByLabel(/to confirm/).fill("test");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("main");
    await toastOf(page, "Key “test” revoked").waitFor();
  });
});
