import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { OPERATOR_ENV } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { goToKeys } from "../fixtures/site.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import { chooseAction, heading, idOf, openConsoleSite } from "./console-site.ts";

const consoleSite = openConsoleSite();

describe.skipIf(!hasBrowser)("an account owner", () => {
  it("is led away from the console, and loads nothing of it", async () => {
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const { page } = await consoleSite.site.page();
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    await goToKeys(page, owner);
    for (const path of ["/operator", "/operator/trail", `/operator/accounts/${await idOf(owner)}`]) {
      await page.goto(path);
      await heading(page, "Overview").waitFor();
      expect(new URL(page.url()).pathname).toBe("/");
    }
    expect(loaded.filter((path) => path.includes("console"))).toEqual([]);
    expect(loaded.filter((path) => path.includes("/trpc/") && path.includes("operator"))).toEqual([]);
    // The console's files are called what this looks for.
    const { page: consolePage } = await consoleSite.site.page();
    const bundle = consolePage.waitForRequest(/\/assets\/console-.*\.js$/);
    await consolePage.goto("/sign-in");
    await consolePage.getByLabel("E-mail").fill(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    await consolePage.getByLabel("Password", { exact: true }).fill(OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
    await consolePage.getByRole("button", { name: "Sign in" }).click();
    await bundle;
  });
});

describe.skipIf(!hasBrowser)("an account's page", () => {
  it("says so when there is no such account", async () => {
    const { page } = consoleSite.watched;
    for (const id of [crypto.randomUUID(), "nothing"]) {
      await page.goto(`/operator/accounts/${id}`);
      await page.getByRole("heading", { name: "Account not found" }).waitFor();
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    }
    await page.getByRole("link", { name: "Go to the accounts" }).click();
    await heading(page, "Accounts").waitFor();
  });
});

describe.skipIf(!hasBrowser)("every page of the console", () => {
  const titles: readonly (readonly [path: string, title: string])[] = [
    ["/operator", "Accounts"],
    ["/operator/status", "Status"],
    ["/operator/upstreams", "Upstreams"],
    ["/operator/catalog", "Catalog"],
    ["/operator/security", "Security events"],
    ["/operator/trail", "Audit trail"],
  ];
  let account = "";

  beforeAll(async () => {
    if (!hasBrowser) return;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = consoleSite.operator.trpc.operator;
    await accounts.setPlan.mutate({ id, plan: "enterprise" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24", "2001:db8::/32"] } });
    await accounts.setPlan.mutate({ id, plan: "free" });
    await accounts.suspend.mutate({
      id,
      reason: `unpaid: ${"a very long word ".repeat(5)}${"x".repeat(60)}`,
    });
    await statusOf(consoleSite.site.service.baseUrl, owner.key);
    account = `/operator/accounts/${id}`;
  });

  const tabs = ["overview", "keys", "usage", "log", "access", "credit", "history"];
  const pages = () => [...titles, ...tabs.map((tab) => [`${account}?tab=${tab}`, "Test"] as const)];

  async function show(page: Page, path: string, title: string): Promise<void> {
    await page.goto(path);
    await heading(page, title).waitFor();
    await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
  }

  it("shows each timeout of an upstream in the catalog", async () => {
    const { page } = await consoleSite.open();
    await show(page, "/operator/catalog", "Catalog");
    const row = page.getByRole("row").filter({ hasText: "well" }).filter({ hasText: "First byte" });
    await row.getByText("Connect: 5 seconds, idle: 2 minutes, total: 1 hour").waitFor();
  });

  it.each(["light", "dark"] as const)("has nothing that axe finds wrong: %s", async (colorScheme) => {
    const { page, complaints } = await consoleSite.open({ colorScheme });
    const wrong: Record<string, readonly string[]> = {};
    const look = async (where: string) => {
      const found = await violationsOf(page);
      if (found.length > 0) wrong[where] = found;
    };
    for (const [path, title] of pages()) {
      await show(page, path, title);
      await look(path);
    }
    await chooseAction(page, "Reinstate account");
    await look("the dialog to reinstate");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto(`${account}?tab=access`);
    await page.getByLabel("Test an address").fill("127.0.0.1");
    await page.keyboard.press("Enter");
    await page.getByText("refused with 403 on the enterprise plan").waitFor();
    await look("a verdict");
    await page.goto("/operator");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("dialog").waitFor();
    await look("the dialog to create an account");
    expect(wrong).toEqual({});
    expect(complaints).toEqual([]);
  });

  it.each([375, 800, 1_920])("needs no sideways scrolling at %d pixels", async (width) => {
    const { page } = await consoleSite.open({ viewport: { width, height: 900 } });
    const beyond: Record<string, number> = {};
    for (const [path, title] of pages()) {
      await show(page, path, title);
      const by = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      if (by > 0) beyond[path] = by;
    }
    expect(beyond).toEqual({});
  });
});
