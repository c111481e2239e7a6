import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { runInShell, runModule } from "../fixtures/run-code.ts";
import { PASSWORD, signUp, signUpWithKey } from "../fixtures/user.ts";
import { countsOf, openOverviewSite } from "./overview-site.ts";

const overview = openOverviewSite();

/** The clients whose programs run in Node, and curl. Those in Python are run by test/clients/connect.test.ts. */
const CLIENTS = ["curl", "TypeScript", "Ostiary SDK", "AI SDK"];

describe.skipIf(!hasBrowser)("an account that has made no request yet", () => {
  it.each(
    CLIENTS.flatMap((client) => [
      { client, variable: "OSTIARY_API_KEY", at: () => overview.site.service },
      { client, variable: "ACME_AI_API_KEY", at: () => overview.named },
    ]),
  )(
    "is led to the first one by code that runs as it is copied ($client, $variable), and sees that it has come",
    async ({ client, variable, at }) => {
      const owner = await signUpWithKey(at().baseUrl);
      const { page, complaints } = await overview.pageOf(owner, "/");
      await page.getByText("Waiting for the first request…").waitFor();
      await page.getByText(`Set ${variable} to your key first.`).waitFor();
      await page.getByRole("button", { name: client, exact: true }).click();
      const code = await copied(page, client === "curl" ? "command" : "code");

      expect(await outputOf(client, code, { [variable]: owner.key })).toContain("Say hello.");
      await page.getByText("The first request has arrived.").waitFor();
      await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
      expect(complaints).toEqual([]);
    },
  );

  it("does not wait for it while it is suspended", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { accounts } = overview.operator.trpc.operator;
    await accounts.suspend.mutate({ id, reason: "unpaid" });
    const { page } = await overview.pageOf(owner, "/");
    await page.getByText("Requests are refused until the account is reinstated.").waitFor();
    expect(await page.getByText("Waiting for the first request…").count()).toBe(0);
    await accounts.reinstate.mutate({ id });
    await page.reload();
    await page.getByText("Waiting for the first request…").waitFor();
  });

  it.each([1_280, 1_440])(
    "keeps the place of the steps while it is not known which apply, at %i pixels",
    async (width) => {
      const owner = await signUpWithKey(overview.site.service.baseUrl);
      let answer = () => {};
      const isMeasured = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const viewport = { width, height: 900 };
      const { page } = await overview.pageOf(owner, "/", { viewport }, async (page) => {
        await page.route(/models\.list/, async (route) => {
          await isMeasured;
          await route.continue();
        });
      });
      const place = page.locator("section", { hasText: "Get started" });
      await place.waitFor({ state: "attached" });
      const before = await place.boundingBox();
      answer();
      await page.getByRole("heading", { name: "Get started 1 of 4" }).waitFor();
      const after = await place.boundingBox();
      expect(after?.height).toBe(before?.height);
    },
  );

  it("has all of its parts in their places from the first", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.pageOf(owner, "/", {}, async (page) => {
      // Letters move when their font comes late, as it does on a busy machine. Then it is there from the first.
      await page.goto("/sign-in");
      await page.evaluate(() => document.fonts.ready.then(() => undefined));
      await page.addInitScript(recordShifts);
    });
    await page.getByText("Waiting for the first request…").waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.evaluate(() => Reflect.get(window, "shifts"))).toEqual([]);
  });

  it("needs four clicks from signing up to the first request, with a key of its own", async () => {
    const { page, complaints } = await overview.site.page();
    await page.goto("/sign-up");
    const clicks = await countClicks(page);
    await page.getByLabel("Account name").fill("Acme");
    await page.getByLabel("E-mail").fill(`${crypto.randomUUID()}@example.com`);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("button", { name: "Create key" }).click();
    const key = (await page.getByTestId("key-string").textContent()) ?? "";
    await page.getByRole("heading", { name: "Get started 1 of 4" }).waitFor();
    const command = await copied(page, "command");
    expect(command).toContain(key);
    expect(await outputOf("curl", command, {})).toContain("Say hello.");
    await page.getByText("Store the key to continue.").waitFor();
    await page.getByLabel("I have stored it").click();
    await page.getByText("The first request has arrived.").waitFor();
    await page.getByRole("heading", { name: "Usage" }).waitFor();

    expect(clicks()).toBeGreaterThan(2);
    expect(clicks()).toBeLessThanOrEqual(4);
    expect(await page.content()).not.toContain(key);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(kept).not.toContain(key);
    expect(complaints).toEqual([]);
  });

  it("is shown a command that runs as it is copied with a new key, too, though the catalog begins with a model for embeddings", async () => {
    const owner = await signUp(overview.site.service.baseUrl);
    const { page } = await overview.pageOf(owner);
    await page.goto("/settings/keys");
    await page.getByRole("button", { name: "Create key" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("first");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("Try it").click();
    expect(await outputOf("curl", await copied(page, "command"), {})).toContain('"chat.completion"');
  });

  it("can't lose the key that it has just created by leaving the page", async () => {
    const { page, complaints } = await overview.pageOf(await signUp(overview.site.service.baseUrl));
    await page.getByRole("button", { name: "Create key" }).click();
    const key = (await page.getByTestId("key-string").textContent()) ?? "";
    await page.locator("button:focus", { hasText: "Copy key" }).waitFor();
    const models = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Models" });
    // The question comes into view, wherever the page is.
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await models.click();
    await page.locator("button:focus", { hasText: "Stay on this page" }).waitFor();
    const top = await page.getByText("Store the key before you leave").evaluate((question) => {
      return question.getBoundingClientRect().top;
    });
    expect(top).toBeGreaterThanOrEqual(0);
    await page.keyboard.press("Enter");
    await page.getByText("Store the key before you leave").waitFor({ state: "detached" });
    expect(await page.getByTestId("key-string").textContent()).toBe(key);

    await page.getByLabel("I have stored it").click();
    await page.getByTestId("key-string").waitFor({ state: "detached" });
    // What had the focus is gone. A keyboard and a screen reader go on in the same part of the page.
    await page.locator("section:focus", { hasText: "is stored" }).waitFor();
    // The commands keep it until the page is left.
    expect(await page.getByRole("region", { name: /Chat Completions/ }).textContent()).toContain(key);
    // As when another document is opened, after which a browser may show this one again as it was.
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
    expect(await page.content()).not.toContain(key);
    await models.click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByText("Create another one if you lost it.").waitFor();
    expect(await page.content()).not.toContain(key);
    await page.getByRole("button", { name: "Create another key" }).press("Enter");
    await page.locator("input:focus").and(page.getByLabel("Key name")).waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps the place of a keyboard when the instructions go", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.pageOf(owner);
    await page.getByRole("button", { name: "Copy command" }).focus();
    await overview.chat(owner.key, "sandbox/echo");
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  });
});

describe.skipIf(!hasBrowser)("the checklist", () => {
  const doneOf = (page: Page) => page.getByRole("listitem").filter({ has: page.getByLabel("Done:") });

  it("follows what the account does, and stays until all is done or it is dismissed, for this user in this browser", async () => {
    const owner = await signUp(overview.site.service.baseUrl);
    const { page, complaints } = await overview.pageOf(owner);
    await page.getByRole("heading", { name: "Get started 0 of 4" }).waitFor();
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    await overview.chat(first.key, "sandbox/echo");
    await page.reload();
    await page.getByRole("heading", { name: "Get started 2 of 4" }).waitFor();
    await expect
      .poll(() => doneOf(page).getByRole("link").allTextContents())
      .toEqual(["Create a key", "Call from your code"]);

    // This service has no model of a provider, so nothing asks the account to use one.
    await owner.trpc.keys.rotate.mutate({ id: first.id });
    await page.reload();
    await page.getByRole("heading", { name: "Get started 3 of 4" }).waitFor();
    expect(await page.getByRole("link", { name: "Use a real model" }).count()).toBe(0);
    await page.route(/models\.list/, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('"sandbox":true', '"sandbox":false');
      await route.fulfill({ response, body });
    });
    await page.reload();
    await page.getByRole("heading", { name: "Get started 3 of 5" }).waitFor();
    await page.getByRole("link", { name: "Use a real model" }).waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.reload();
    await page.getByRole("heading", { name: "Get started 3 of 4" }).waitFor();

    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByRole("heading", { name: /Get started/ }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(await page.getByRole("heading", { name: /Get started/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("goes when all that the catalog allows is done", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const second = await owner.trpc.keys.create.mutate({ name: "second" });
    await overview.chat(second.key, "sandbox/echo");
    const { page } = await overview.pageOf(owner);
    await page.getByRole("heading", { name: "Get started 3 of 4" }).waitFor();
    await owner.trpc.keys.rotate.mutate({ id: second.id });
    await page.reload();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(await page.getByRole("heading", { name: /Get started/ }).count()).toBe(0);
  });

  it("counts no request of the playground as one of the account's own code", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.pageOf(owner);
    await page.getByRole("link", { name: "Playground" }).click();
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.fill("from the playground");
    await message.press("Enter");
    await page.getByText("from the playground").nth(1).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await page.getByRole("heading", { name: "Get started 1 of 4" }).waitFor();
  });
});

/** What a copy button puts into the clipboard. It says so for a moment, which a busy machine may miss. */
async function copied(page: Page, what: string): Promise<string> {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByRole("button", { name: `Copy ${what}`, exact: true }).click();
  const text = () => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(text).not.toBe("");
  return text();
}

/** Counts the clicks on the page from now on, also on the documents that it opens. */
async function countClicks(page: Page): Promise<() => number> {
  let clicks = 0;
  await page.exposeFunction("clicked", () => clicks++);
  const watch = () =>
    document.addEventListener(
      "click",
      (event) => {
        // The browser adds a click of its own: on a field whose label was clicked, and on a button when Enter is pressed.
        if (event.isTrusted && event.detail > 0) (window as unknown as { clicked: () => void }).clicked();
      },
      { capture: true },
    );
  await page.addInitScript(watch);
  await page.evaluate(watch);
  return () => clicks;
}

/** What copied code prints, run as its reader would. */
async function outputOf(client: string, code: string, variables: Record<string, string>): Promise<string> {
  const ran = client === "curl" ? await runInShell(code, variables) : await runModule(code, variables);
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  return ran.stdout;
}

/** Collects the elements that move while the page loads. Runs in the page. */
function recordShifts(): void {
  const shifts: string[] = [];
  Reflect.set(window, "shifts", shifts);
  new PerformanceObserver((list) => {
    for (const { sources } of list.getEntries() as unknown as readonly LayoutShift[])
      for (const { node } of sources) shifts.push(String(node?.textContent));
  }).observe({ type: "layout-shift", buffered: true });
}

interface LayoutShift {
  readonly sources: readonly { readonly node: Node | null }[];
}
