import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { toastOf } from "../fixtures/menu.ts";
import { outcomeOf, statusOf } from "../fixtures/request.ts";
import { PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { chat } from "./audit-page.ts";
import {
  chooseAction,
  heading,
  idOf,
  openAccount,
  openConsoleSite,
  panel,
  takePassword,
} from "./console-site.ts";
import { loseAnswer } from "./fail-procedure.ts";

const consoleSite = openConsoleSite();

describe.skipIf(!hasBrowser)("an operator with accounts", () => {
  it("finds the console, and no account's pages", async () => {
    const { page } = consoleSite.watched;
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    for (const path of ["/", "/audit", "/settings/keys"]) {
      await page.goto(path);
      await heading(page, "Accounts").waitFor();
      expect(new URL(page.url()).pathname).toBe("/operator");
    }
  });

  it("finds an account by its user's e-mail address, and comes back to what they searched for", async () => {
    const { page } = consoleSite.watched;
    const [owner, other] = [
      await signUp(consoleSite.site.service.baseUrl),
      await signUp(consoleSite.site.service.baseUrl),
    ];
    await page.goto("/operator");
    await page.getByRole("row", { name: other.email }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type(owner.email.slice(0, 20));
    await page.getByRole("row", { name: other.email }).waitFor({ state: "detached" });
    const row = page.getByRole("row", { name: owner.email });
    await row.getByText("$5.00").waitFor();
    await row.getByRole("link", { name: "Test" }).click();
    await heading(page, "Test").waitFor();
    await page.getByText(await idOf(owner)).waitFor();
    await page.goBack();
    await row.waitFor();
    expect(await page.getByRole("searchbox", { name: "Search" }).inputValue()).toBe(owner.email.slice(0, 20));
  });

  it("sees only accounts of the state and plan that they choose, and the choice stands in the address", async () => {
    const { page } = consoleSite.watched;
    const [free, pro, suspended] = [
      await signUp(consoleSite.site.service.baseUrl),
      await signUp(consoleSite.site.service.baseUrl),
      await signUp(consoleSite.site.service.baseUrl),
    ];
    const { accounts } = consoleSite.operator.trpc.operator;
    for (const owner of [pro, suspended]) {
      await accounts.setPlan.mutate({ id: await idOf(owner), plan: "pro" });
    }
    await accounts.suspend.mutate({ id: await idOf(suspended), reason: "unpaid" });
    await page.goto("/operator");
    await page.getByLabel("State").selectOption("Suspended");
    await page.getByLabel("Plan").selectOption("Pro");
    await page.getByRole("row", { name: pro.email }).waitFor({ state: "detached" });
    await page.getByRole("row", { name: suspended.email }).waitFor();
    await page.reload();
    await page.getByRole("row", { name: suspended.email }).waitFor();
    expect(await page.getByText(pro.email).count()).toBe(0);
    await page.getByLabel("State").selectOption("Active");
    await page.getByRole("row", { name: pro.email }).waitFor();
    expect(await page.getByText(free.email).count()).toBe(0);
    await page.getByRole("searchbox", { name: "Search" }).fill("nobody has such a name");
    await page.getByText("No account matches").waitFor();
    await page.getByRole("button", { name: "Show all accounts" }).click();
    await page.getByRole("row", { name: free.email }).waitFor();
  });

  it("sorts accounts by balance, highest or lowest first, and sees how many match", async () => {
    const { page } = consoleSite.watched;
    const { accounts } = consoleSite.operator.trpc.operator;
    const name = `Sorted ${crypto.randomUUID()}`;
    const balances = [2n, 40n, 1n];
    for (const [index, granted] of balances.entries()) {
      const email = `${crypto.randomUUID()}@example.com`;
      const { account } = await accounts.create.mutate({ email, accountName: `${name} ${index}` });
      const amountNanoUsd = granted * 1_000_000_000n;
      await accounts.grantCredits.mutate({ id: account.id, amountNanoUsd, reason: "sorting" });
    }
    await page.goto(`/operator?search=${encodeURIComponent(name)}`);
    await page.getByText("3 accounts match, newest first.").waitFor();
    const names = () => page.getByRole("table").getByRole("link").allTextContents();
    const sorted = (order: readonly number[]) => order.map((index) => `${name} ${index}`);
    const header = page.getByRole("columnheader", { name: "Balance" });
    await header.getByRole("button").click();
    await page.getByText("3 accounts match, highest balance first.").waitFor();
    await expect.poll(names).toEqual(sorted([1, 0, 2]));
    expect(await header.getAttribute("aria-sort")).toBe("descending");
    await header.getByRole("button").click();
    await page.getByText("3 accounts match, lowest balance first.").waitFor();
    await expect.poll(names).toEqual(sorted([2, 0, 1]));
    expect(new URL(page.url()).searchParams.get("order")).toBe("balance");
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const csv = await readFile(await (await downloading).path(), "utf8");
    await toastOf(page, "3 rows exported").waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill(`${name} 1`);
    await page.getByText("1 account matches, lowest balance first.").waitFor();
    await page.getByRole("button", { name: "Export CSV" }).click();
    await toastOf(page, "1 row exported").waitFor();
    const exported = csv.trimEnd().split("\r\n").slice(1);
    expect(exported.map((line) => line.split(",")[1])).toEqual(sorted([2, 0, 1]));
  });

  it("reads on in a list that is longer than a page, without losing their place", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const id = await idOf(owner);
    const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
    for (let number = 1; number <= 20; number++) {
      const limits = { ...unlimited, requestsPerMinute: number };
      await consoleSite.operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    }
    await openAccount(page, owner, "history");
    const trail = panel(page, "Audit trail");
    await trail
      .getByRole("row", { name: /Limits changed/ })
      .nth(19)
      .waitFor();
    expect(await trail.getByText("Signed up").count()).toBe(0);
    await trail.getByRole("button", { name: "Load more changes" }).focus();
    await page.keyboard.press("Enter");
    await trail.getByRole("row", { name: /Signed up/ }).waitFor();
    await trail.getByText("No more changes").waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain("No more changes");
  });

  it("is not told that there is no more of a list that their filters leave empty", async () => {
    const { page } = consoleSite.watched;
    const id = await idOf(await signUp(consoleSite.site.service.baseUrl));
    const { accounts } = consoleSite.operator.trpc.operator;
    const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
    for (let number = 1; number <= 50; number++) {
      await accounts.setLimits.mutate({ id, limits: { ...unlimited, requestsPerMinute: number } });
    }
    await page.goto(`/operator/trail?accountId=${id}`);
    await page.getByRole("button", { name: "Load more changes" }).click();
    await page.getByText("No more changes.").waitFor();
    await page.getByLabel("Author").fill("nobody@example.com");
    await page.keyboard.press("Enter");
    await page.getByText("No change matches").waitFor();
    expect(await page.getByText("No more changes.").count()).toBe(0);
  });

  it("makes an account, whose user signs in with the password that was shown once", async () => {
    const { page } = consoleSite.watched;
    const email = `${crypto.randomUUID()}@example.com`;
    await page.goto("/operator");
    await page.getByRole("button", { name: "Create account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill(email);
    await dialog.getByLabel("Account name").fill("Globex");
    await dialog.getByLabel("Plan").selectOption("Enterprise");
    await dialog.getByRole("button", { name: "Create account" }).click();
    const password = await takePassword(page);
    await heading(page, "Globex").waitFor();
    expect(await page.content()).not.toContain(password);
    const user = visit(consoleSite.site.service.baseUrl);
    await user.trpc.auth.signIn.mutate({ email, password });
    expect((await user.trpc.account.get.query()).plan).toBe("enterprise");
  });

  it("learns what may have happened when the answer with a password is lost, and how to get one", async () => {
    const { page } = await consoleSite.open();
    const email = `${crypto.randomUUID()}@example.com`;
    await page.getByRole("button", { name: "Create account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill(email);
    await dialog.getByLabel("Account name").fill("Lost");
    await loseAnswer(page, "operator.accounts.create");
    await dialog.getByRole("button", { name: "Create account" }).click();
    await dialog.getByRole("alert").getByText("The account may have been created. Look for it").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("row", { name: email }).getByRole("link", { name: "Lost" }).click();
    await chooseAction(page, "Reset password");
    await loseAnswer(page, "operator.users.resetPassword");
    await dialog.getByRole("button", { name: "Reset password" }).click();
    await dialog.getByRole("alert").getByText("Try again to see a new one.").waitFor();
    await dialog.getByRole("button", { name: "Reset password" }).click();
    const password = await takePassword(page);
    await visit(consoleSite.site.service.baseUrl).trpc.auth.signIn.mutate({ email, password });
  });

  it("suspends an account with a reason, and its keys are refused at once, till it is reinstated", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const dialog = await chooseAction(page, "Suspend account");
    await dialog.getByText(/Every request with a key of this account is refused/).waitFor();
    // Not without a reason.
    await dialog.getByRole("button", { name: "Suspend account" }).click();
    await dialog.getByRole("alert").getByText("This field is required.").waitFor();
    expect(await statusOf(consoleSite.site.service.baseUrl, owner.key)).toBe(200);
    await dialog.getByLabel("Reason").fill("unpaid since March");
    await page.keyboard.press("Enter");
    await toastOf(page, "Account suspended").waitFor();
    expect(await outcomeOf(consoleSite.site.service.baseUrl, owner.key)).toEqual({
      status: 403,
      code: "account_suspended",
    });
    await panel(page, "State").getByText("unpaid since March").waitFor();
    await panel(page, "Summary").getByText("suspended").waitFor();
    await page.getByRole("link", { name: "History", exact: true }).click();
    const trail = panel(page, "Audit trail");
    await trail.getByRole("row", { name: /Account suspended/ }).waitFor();

    await chooseAction(page, "Reinstate account");
    await page.getByLabel("Reason (optional)").last().fill("paid");
    await page.getByRole("button", { name: "Reinstate account" }).click();
    await toastOf(page, "Account reinstated").waitFor();
    expect(await statusOf(consoleSite.site.service.baseUrl, owner.key)).toBe(200);
    await trail
      .getByRole("row", { name: /Account reinstated/ })
      .getByText("paid")
      .first()
      .waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Actions");
  });

  it("resets a user's password, which is shown once and ends their sessions", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const dialog = await chooseAction(page, "Reset password");
    await dialog.getByRole("button", { name: "Reset password" }).click();
    const password = await takePassword(page);
    expect(await page.content()).not.toContain(password);
    expect(await owner.trpc.auth.me.query()).toBeNull();
    await owner.trpc.auth.signIn.mutate({ email: owner.email, password });
    await expect(owner.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD })).rejects.toThrow();
  });

  it("sees at once what an account has used lately, with which keys, what failed, and whose it is", async () => {
    const { page } = consoleSite.watched;
    const { baseUrl } = consoleSite.site.service;
    const owner = await signUpWithKey(baseUrl);
    await openAccount(page, owner);
    await panel(page, "Last 7 days").getByText("No requests in the last 7 days.").waitFor();
    await panel(page, "Keys in use").getByText("No key was used in the last 7 days.").waitFor();
    await panel(page, "Recent errors").getByText("No errors in the last 7 days.").waitFor();
    await panel(page, "Users").getByText(owner.email).waitFor();
    expect(await panel(page, "State").count()).toBe(0);

    await chat(baseUrl, owner.key, "models/well");
    await chat(baseUrl, owner.key, "no/such");
    await page.reload();
    const figures = panel(page, "Last 7 days").getByRole("definition");
    await expect.poll(() => figures.first().textContent()).toBe("2");
    const keyId = owner.key.slice(-4);
    const key = panel(page, "Keys in use").getByRole("row", { name: `test …${keyId}` });
    await expect
      .poll(() => key.getByRole("cell").allTextContents())
      .toEqual(["2", "1", expect.stringMatching(/^\$0\.0/)]);
    expect(await violationsOf(page)).toEqual([]);
    // Errors have one colour in all charts.
    const swatch = panel(page, "Last 7 days").getByRole("button", { name: "Errors" }).locator("span").first();
    const [colour, danger] = await swatch.evaluate((element) => {
      const shown = getComputedStyle(element).backgroundColor;
      element.style.background = "var(--danger)";
      return [shown, getComputedStyle(element).backgroundColor];
    });
    expect(colour).toBe(danger);
    await panel(page, "Recent errors").getByRole("link", { name: "model_not_found" }).click();
    await page.waitForURL(/\/operator\/log\?.*error_code=model_not_found/);
    await expect.poll(() => page.getByRole("grid").locator("tbody tr").count()).toBe(1);
    await page.goBack();
    await key.getByRole("link").click();
    await expect.poll(() => page.getByRole("grid").locator("tbody tr").count()).toBe(2);
  });

  it("reads an account's keys, requests and usage, each at an address of its own", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    await statusOf(consoleSite.site.service.baseUrl, owner.key);
    await openAccount(page, owner);
    const parts = page.getByRole("navigation", { name: "Parts of the account" });
    const show = async (name: string) => {
      await parts.getByRole("link", { name, exact: true }).click();
      await parts.locator('[aria-current="page"]').getByText(name).waitFor();
    };
    await show("Keys");
    await page.getByRole("row", { name: new RegExp(owner.key.slice(-4)) }).waitFor();
    await show("Log");
    await page
      .getByRole("table", { name: /Requests of the account/ })
      .getByText("200")
      .waitFor();
    await page.getByRole("button", { name: "Errors only" }).click();
    await page.getByText("No errors.").waitFor();
    await show("Usage");
    await page.getByRole("heading", { name: "Usage", exact: true }).waitFor();
    await page.reload();
    await parts.locator('[aria-current="page"]').getByText("Usage").waitFor();
    expect(await parts.locator('[aria-current="page"]').allTextContents()).toEqual(["Usage"]);
    await page.goBack();
    await page.getByRole("button", { name: "Errors only", pressed: true }).waitFor();
    await page.getByText("No errors.").waitFor();
  });

  it("is not led back from a slow page by a search that they have just typed", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    await page.goto("/operator");
    await page.clock.install();
    // Page and list are asked for in one request when both are due at the same time.
    const held: (() => void)[] = [];
    await page.route("**/trpc/**operator.accounts.get**", async (route) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    await page.getByRole("row").filter({ hasText: owner.email }).waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill(owner.email);
    await page.getByRole("row").filter({ hasText: owner.email }).getByRole("link").first().click();
    await expect.poll(() => held.length).toBeGreaterThan(0);
    await page.clock.runFor(1_000);
    for (const release of held) release();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Actions", exact: true }).waitFor();
    expect(page.url()).toContain("/operator/accounts/");
  });

  let mostRequests = 0;
  it("orders accounts by usage and exports them as CSV", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    // More requests than another attempt of this test has made.
    mostRequests += 5;
    for (let number = 0; number < mostRequests; number++)
      await statusOf(consoleSite.site.service.baseUrl, owner.key);
    // Asking for usage waits until it is stored.
    const to = new Date();
    const from = new Date(to.getTime() - 3_600_000);
    await consoleSite.operator.trpc.operator.usage.query({ from, to, interval: "hour" });
    await page.goto("/operator");
    await page.getByRole("button", { name: "Requests, 30 d" }).click();
    await page
      .getByRole("rowgroup")
      .nth(1)
      .getByRole("row")
      .first()
      .filter({ hasText: owner.email })
      .waitFor();
    expect(page.url()).toContain("order=requests");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const file = await (await download).path();
    const lines = (await readFile(file, "utf8")).split("\r\n");
    expect(lines[0]).toContain("id,name,users,plan,state");
    expect(lines[1]).toContain(owner.email);
  });

  it("sees each header of a figure end where the figures do, also in two lines", async () => {
    const { page } = consoleSite.watched;
    await signUp(consoleSite.site.service.baseUrl);
    await page.goto("/operator");
    await page.getByRole("row").nth(1).waitFor();
    const before = page.viewportSize();
    for (const width of [1_000, 1_440]) {
      await page.setViewportSize({ width, height: 900 });
      const ends = await page.getByRole("table", { name: "Accounts" }).evaluate((table) =>
        [...table.querySelectorAll("th[aria-sort].DataTable_number")].map((header) => {
          const text = header.querySelector("button")?.firstChild;
          const lines = document.createRange();
          if (text != null) lines.selectNodeContents(text);
          const cell =
            table.querySelectorAll("tbody tr:first-child > *")[(header as HTMLTableCellElement).cellIndex];
          const figure = document.createRange();
          if (cell !== undefined) figure.selectNodeContents(cell);
          const end = figure.getBoundingClientRect().right;
          return [...lines.getClientRects()].map(({ right }) => Math.round(right - end));
        }),
      );
      expect(ends.flat().length, `${width}`).toBeGreaterThanOrEqual(3);
      expect(new Set(ends.flat()), `${width}`).toEqual(new Set([0]));
    }
    if (before !== null) await page.setViewportSize(before);
  });

  it("never sees a console error, a breach of the content policy or a request to another host", () => {
    expect(consoleSite.watched.complaints).toEqual([]);
  });
});
