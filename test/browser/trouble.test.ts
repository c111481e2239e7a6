import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInRow, signOut, toastOf } from "../fixtures/menu.ts";
import { startService } from "../fixtures/service.ts";
import { goToKeys, openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey } from "../fixtures/user.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite();

const PROCEDURES = "**/trpc/**";

/** The keys of someone who is signed in. */
async function pageOf(owner: Owner): Promise<Page> {
  const { page } = await site.page();
  await goToKeys(page, owner);
  return page;
}

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

async function confirmRevocation(page: Page): Promise<void> {
  await page.getByLabel(/to confirm/).fill("test");
  await page.keyboard.press("Enter");
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
        response.url().includes("keys.list") && (await response.text()).includes("not_signed_in"),
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

describe.skipIf(!hasBrowser)("the keyboard", () => {
  it("stays where it was when a form is refused", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("test");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page.getByRole("alert").waitFor();
    expect(await focused(page)).toBe("Create key");
  });

  it("is led to the page that a link leads to", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    await chooseInRow(page, "test", "Revoke");
    await confirmRevocation(page);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused(page)).toBe("main");
    await toastOf(page, "Key “test” revoked").waitFor();
  });
});

/** Answers a procedure with an error, also among others that are asked for with it. */
async function failProcedure(page: Page, procedure: string): Promise<void> {
  await page.route(PROCEDURES, async (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const names = pathname.split("/").at(-1)?.split(",") ?? [];
    if (!names.includes(procedure)) return route.fallback();
    const data = { ostiary: { code: "service_unavailable", param: null } };
    const failed = { error: { json: { message: "The database is busy.", code: -32603, data } } };
    if (!searchParams.has("batch")) return route.fulfill({ status: 503, json: failed });
    const response = await route.fetch();
    const results: readonly unknown[] = await response.json();
    return route.fulfill({
      status: 207,
      json: results.map((result, index) => (names[index] === procedure ? failed : result)),
    });
  });
}

describe.skipIf(!hasBrowser)("what needs the name or the address of the service", () => {
  let owner: Owner & { readonly id: string };
  beforeAll(async () => {
    if (hasBrowser) owner = await signUpWithKey(site.service.baseUrl);
  });

  it.each([
    { where: "the first steps", path: () => "/", heading: "Send a request" },
    { where: "a model's page", path: () => "/models/sandbox%2Fecho", heading: "Call this model" },
    { where: "a key's page", path: () => `/settings/keys/${owner.id}`, heading: "Use this key" },
  ])("says that it could not be loaded, and can be asked for again: $where", async ({ path, heading }) => {
    const { page } = await site.page();
    await signInBy(page, owner);
    await failProcedure(page, "service.info");
    await page.goto(path());
    await page.getByRole("heading", { name: heading }).waitFor();
    await page.locator("main").getByRole("alert").getByText("The database is busy.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.locator("main").getByRole("button", { name: "Try again" }).click();
    await page.locator("main").getByText(site.service.baseUrl).first().waitFor();
    expect(await page.locator("main").getByRole("alert").count()).toBe(0);
  });

  it("has a link home with a name of its own", async () => {
    const { page } = await site.page();
    await signInBy(page, owner);
    await failProcedure(page, "service.info");
    await page.goto("/models");
    await page.getByRole("heading", { name: "Models" }).waitFor();
    await page.getByRole("link", { name: "Home" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("is the address of the page, beside a new token", async () => {
    const { page } = await site.page();
    await signInBy(page, owner);
    await failProcedure(page, "service.info");
    await page.goto("/settings/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("script");
    await page.keyboard.press("Enter");
    await page.getByText("Try it with curl").click();
    await page.getByText(`curl ${site.service.baseUrl}/trpc/keys.list`).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a slow answer", () => {
  it("holds up its own part of the first page, not the navigation or what has loaded", async () => {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/credits\.statement/, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.goto("/settings/credits");
    await page.getByRole("heading", { name: "Credits", level: 1 }).waitFor();
    await page.getByRole("status").filter({ hasText: "Loading" }).first().waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("row", { name: /sandbox\/echo/ }).waitFor();
    answer();
    await page.getByRole("link", { name: "Credits" }).click();
    await page.getByRole("table", { name: /^Statement/ }).waitFor();
  });

  it.each(["account.firstSteps", "keys.count"])("does not hold up the overview: %s", async (procedure) => {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    await page.route(PROCEDURES, (route) =>
      route.request().url().includes(procedure) ? undefined : route.fallback(),
    );
    await page.goto("/");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a figure that could not be loaded", () => {
  it.each([
    { procedure: "account.get", label: /Active keys.*Could not be loaded/ },
    { procedure: "usage.summary", label: /The spend of the last 7 days could not be loaded\./ },
  ])("is said to be missing: $procedure", async ({ procedure, label }) => {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    await failProcedure(page, procedure);
    await page.goto("/");
    await page.getByRole("paragraph").filter({ hasText: label }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("trouble with the service", () => {
  it("is told next to a revocation that was not sent, which is not sent later by itself", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const page = await pageOf(owner);
    await chooseInRow(page, "test", "Revoke");
    await page.context().setOffline(true);
    await confirmRevocation(page);
    await page.getByRole("dialog").getByRole("alert").getByText("can't be reached").waitFor();
    const asked = page.waitForResponse((response) => response.url().includes("keys.list"));
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.reload();
    await asked;
    expect((await owner.trpc.keys.list.query()).keys[0]?.state).toBe("active");
  });

  it("is a lost connection when a proxy answers instead, and the page heals by itself", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    await page.route(PROCEDURES, (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }),
    );
    await page.getByRole("link", { name: "Credits" }).click();
    await page.getByText("Connection lost").waitFor();
    await page.getByRole("heading", { name: "Statement" }).waitFor();
    await page.getByText("can't be reached").first().waitFor();
    await page.unroute(PROCEDURES);
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    await expect.poll(() => page.getByText("can't be reached").count()).toBe(0);
    await page.getByText("$5.00").first().waitFor();
  });

  it("is told once where a connection is lost, as long as the data of before is shown", async () => {
    const owner = await signUp(site.service.baseUrl);
    await owner.trpc.tokens.create.mutate({ name: "script" });
    const { page } = await site.open(owner, "/settings/tokens");
    await page.getByRole("row", { name: /^script/ }).waitFor();
    let asked = 0;
    await page.route(PROCEDURES, (route) => {
      if (route.request().url().includes("tokens.list")) asked++;
      return route.abort();
    });
    // The list is asked for again after a change, even one that failed.
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("lost");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    // The query fails with the last of its attempts.
    await expect.poll(() => asked, { timeout: 30_000 }).toBe(4);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    await page.getByText("Connection lost").waitFor();
    expect(await page.locator('main [role="alert"]').count()).toBe(0);
    // Nor is there an error for a moment, when the connection has come back.
    await page.evaluate(() => {
      Object.assign(window, { alerts: 0 });
      new MutationObserver(() => {
        const { length } = document.querySelectorAll('main [role="alert"]');
        Object.assign(window, { alerts: Math.max(length, Reflect.get(window, "alerts")) });
      }).observe(document, { childList: true, subtree: true });
    });
    await page.unrouteAll();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    expect(await page.evaluate(() => Reflect.get(window, "alerts"))).toBe(0);
    await page.getByRole("row", { name: /^script/, includeHidden: true }).waitFor();
  });

  it("is told in the service's own words, when it is not a procedure that answers", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    const message = "The service is starting. Try again in a moment.";
    const error = { message, type: "server_error", param: null, code: "server_is_overloaded" };
    await page.route(PROCEDURES, (route) => route.fulfill({ status: 503, json: { error } }));
    await chooseInRow(page, "test", "Revoke");
    await confirmRevocation(page);
    await page.getByRole("dialog").getByRole("alert").getByText(message).waitFor();
  });

  it("shows that the page is being loaded, then what is wrong, and heals on request", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    const loading = page.getByText("Loading").waitFor();
    await page.route(PROCEDURES, async (route) => {
      await loading;
      await route.abort();
    });
    await page.goto("/settings/keys");
    await loading;
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.unroute(PROCEDURES);
    await again.click();
    await page.getByRole("row", { name: /test/ }).waitFor();
  });

  it("is told when one could not be signed out", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    await page.route(PROCEDURES, (route) => route.abort());
    await signOut(page);
    await page.getByRole("alert").getByText("can't be reached").waitFor();
  });

  it("is told at the address that is not the public one", async () => {
    await using elsewhere = await startService({ env: { OSTIARY_PUBLIC_URL: "https://models.example" } });
    const { page } = await site.page({}, elsewhere.baseUrl);
    await page.goto("/sign-in");
    await fillSignIn(page, { email: "somebody@example.com" });
    await page.getByRole("alert").getByText("Open the dashboard at its own address").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a form", () => {
  it("says what is wrong with a password that can be nobody's", async () => {
    const { page } = await site.page();
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill("somebody@example.com");
    await page.getByLabel("Password").fill(PASSWORD.repeat(10));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Must have at most 200 characters.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a page", () => {
  it("is named in the browser's tab", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
    await expect.poll(() => page.title()).toBe("API keys · Ostiary");
    await page.getByRole("link", { name: "Request log" }).click();
    await expect.poll(() => page.title()).toBe("Request log · Ostiary");
    await signOut(page);
    await expect.poll(() => page.title()).toBe("Sign in · Ostiary");
  });

  it("is light or dark as the system is, or as its root says", async () => {
    const { page } = await site.page({ colorScheme: "dark" });
    await page.goto("/sign-in");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.evaluate(() => {
      document.documentElement.dataset.theme = "light";
    });
    expect(await ground()).not.toBe(dark);
  });
});

const PAGE_CODE = /\/assets\/(?:Credits|Models)-[^/]*\.js$/;

describe.skipIf(!hasBrowser)("a page whose code can't be loaded", () => {
  it("fails beside the navigation, and heals by itself when the service answers again", async () => {
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
    const page = await pageOf(await signUpWithKey(site.service.baseUrl));
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
