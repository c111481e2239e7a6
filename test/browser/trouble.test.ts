import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInRow, signOut } from "../fixtures/menu.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { openKeys, openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey } from "../fixtures/user.ts";
import { chat } from "./audit-page.ts";
import { answerProcedure, failProcedure, PROCEDURES } from "./fail-procedure.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite(startOperatedService);

async function confirmRevocation(page: Page): Promise<void> {
  await page.getByLabel(/to confirm/).fill("test");
  await page.keyboard.press("Enter");
}

/** How far down the middle of a part of the page is. */
async function middleOf(part: Locator): Promise<number> {
  const { y, height } = (await part.boundingBox()) ?? { y: 0, height: 0 };
  return y + height / 2;
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
    const alert = page.locator("main").getByRole("alert");
    await alert.getByText("The database is busy.").waitFor();
    const again = alert.getByRole("button", { name: "Try again" });
    await again.waitFor();
    // Of one moment, because what is above may still be loaded.
    const middles = await alert.evaluate((element) =>
      ["svg", "p", "button"].map((part) => {
        const box = element.querySelector(part)?.getBoundingClientRect();
        return box === undefined ? Number.NaN : box.y + box.height / 2;
      }),
    );
    expect(Math.max(...middles) - Math.min(...middles)).toBeLessThan(2);
    await page.unrouteAll({ behavior: "wait" });
    await again.click();
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

  it("has its place: what it shows moves nothing when it comes", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(site.service.baseUrl, owner.key);
    const { page } = await site.page({ viewport: { width: 1_440, height: 900 } });
    await signInBy(page, owner);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/models\.list/, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.goto("/");
    const credit = page.getByRole("heading", { name: "Credit", exact: true });
    await credit.waitFor();
    const before = await middleOf(credit);
    answer();
    await page.getByRole("heading", { name: /^Get started/ }).waitFor();
    // But for a line: without a real model there is a step less, so that none of them wraps.
    expect(Math.abs((await middleOf(credit)) - before)).toBeLessThan(24);
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

  it.each([
    { of: "audit.summary", path: "/audit", shown: /sandbox\/echo/ },
    { of: "usage.performance", path: "/", shown: /sandbox\/echo/ },
    { of: "operator.log.summary", path: "/operator/log", shown: /sandbox\/echo/ },
    { of: "operator.upstreamHistory", path: "/operator/upstreams", shown: /^sandbox/ },
  ])("holds up nothing else of its page: $of", async ({ of, path, shown }) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(site.service.baseUrl, owner.key);
    const { page } = await site.page();
    await signInBy(page, path.startsWith("/operator") ? await signInOperator(site.service.baseUrl) : owner);
    // It is never answered, and nor is what was asked for with it.
    await page.route(PROCEDURES, (route) =>
      route.request().url().includes(of) ? undefined : route.fallback(),
    );
    await page.goto(path);
    await page.locator("main").getByRole("row", { name: shown }).first().waitFor();
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

describe.skipIf(!hasBrowser)("what helps beside a page's own content", () => {
  const busy = (page: Page) => page.getByText("The database is busy.");

  it.each([
    { who: "an owner", path: "/audit", field: "Key", procedure: "keys.list", shown: "test (…" },
    { who: "an owner", path: "/audit", field: "Model", procedure: "models.list", shown: "sandbox/lorem" },
    {
      who: "an operator",
      path: "/operator/log?status=error",
      field: "Error code",
      procedure: "operator.log.summary",
      shown: "model_not_found",
    },
    {
      who: "an operator",
      path: "/operator/log",
      field: "Account",
      procedure: "operator.accounts.list",
      shown: "@example.com",
    },
  ])("says that it has no suggestions: $field, for $who", async ({ who, path, field, procedure, shown }) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const visitor = who === "an owner" ? owner : await signInOperator(site.service.baseUrl);
    const { page } = await site.page();
    await signInBy(page, visitor);
    await failProcedure(page, procedure);
    await page.goto(path);
    await page.getByRole("combobox", { name: field, exact: true }).click();
    const list = page.getByRole("dialog");
    await list.getByText("Suggestions could not be loaded. The database is busy.").waitFor();
    expect(await list.getByText("Nothing found.").count()).toBe(0);
    // The rest of the page can be used, and the next look at the list asks again.
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "detached" });
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("combobox", { name: field, exact: true }).click();
    await list.getByRole("option").filter({ hasText: shown }).first().waitFor();
    expect(await busy(page).and(list).count()).toBe(0);
  });

  it("does not say that nothing was found while it is being searched", async () => {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/keys\.list/, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.goto("/audit");
    await page.getByRole("combobox", { name: "Key", exact: true }).click();
    const list = page.getByRole("dialog");
    await list.getByText("Loading…").waitFor();
    expect(await list.getByText("Nothing found.").count()).toBe(0);
    answer();
    await list.getByRole("option", { name: /^test/ }).waitFor();
    await list.getByRole("combobox").fill("no such key");
    await list.getByText("Nothing found.").waitFor();
  });

  it("says that there may be warnings of the operator's settings, and asks again", async () => {
    const { page } = await site.page();
    await signInBy(page, await signInOperator(site.service.baseUrl));
    await failProcedure(page, "operator.warnings");
    await page.goto("/operator");
    await page.getByRole("heading", { name: "Accounts", level: 1 }).waitFor();
    const told = page.getByRole("status").filter({ hasText: "Warnings about settings could not be loaded." });
    await told.getByText("The database is busy.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await told.getByRole("button", { name: "Try again" }).click();
    await told.waitFor({ state: "detached" });
  });

  it("has lines above the page that are as high as their text", async () => {
    const { page } = await site.page();
    await signInBy(page, await signInOperator(site.service.baseUrl));
    const warnings = ["The first warning.", "The second warning.", "The third warning."];
    await answerProcedure(page, "operator.warnings", { warnings });
    await page.goto("/operator/connect");
    const heights = warnings.map(async (text) => {
      const notice = page.getByRole("status").filter({ hasText: text });
      await notice.waitFor();
      return (await notice.boundingBox())?.height;
    });
    const [first, ...others] = await Promise.all(heights);
    expect(others).toEqual([first, first]);
  });

  it("says that not everything was searched for a command", async () => {
    const { page } = await site.page();
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    await failProcedure(page, "keys.list");
    await page.goto("/models");
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search everything" }).fill("echo");
    await page.getByRole("option", { name: /sandbox\/echo/ }).waitFor();
    await page.getByText("Not everything could be searched. The database is busy.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("trouble with the service", () => {
  it("is told next to a revocation that was not sent, which is not sent later by itself", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const page = await openKeys(site, owner);
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
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
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
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    const message = "The service is starting. Try again in a moment.";
    const error = { message, type: "server_error", param: null, code: "server_is_overloaded" };
    await page.route(PROCEDURES, (route) => route.fulfill({ status: 503, json: { error } }));
    await chooseInRow(page, "test", "Revoke");
    await confirmRevocation(page);
    await page.getByRole("dialog").getByRole("alert").getByText(message).waitFor();
  });

  it("shows that the page is being loaded, then what is wrong, and heals on request", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    const loading = page.getByText("Loading").first().waitFor();
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

  it("is not what is wrong when a page fails on an answer that it can't read, and a reload helps", async () => {
    const { page } = await site.page();
    await signInBy(page, await signUp(site.service.baseUrl));
    await answerProcedure(page, "account.get", null);
    await page.goto("/");
    await page.getByRole("alert").getByText("An error occurred on this page. Reload it").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  });

  it("is told when one could not be signed out", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
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
