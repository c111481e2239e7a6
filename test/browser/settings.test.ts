import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openBrowser, openPage } from "../fixtures/browser.ts";
import { OPERATOR_ENV, refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { signInAt } from "./sign-in.ts";

let service: Service;
let browser: Browser;

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startOperatedService(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
});

async function pageOf(owner: Pick<Owner, "email">): Promise<Page> {
  const { page } = await openPage(browser, service.baseUrl);
  await signInAt(page, owner);
  return page;
}

async function store(page: Page, what: "key" | "token"): Promise<string> {
  const secret = await page.getByTestId(`${what}-string`).textContent();
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  return secret ?? "";
}

describe.skipIf(!hasBrowser)("a key", () => {
  it("is rotated: its successor is shown once, the list says who still uses the old one, and it is revoked", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, owner.key)).toBe(200);
    const page = await pageOf(owner);
    await page.getByRole("button", { name: "Rotate test" }).click();
    await page.getByLabel(/unused for/).selectOption("1 hour");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Rotate key" }).click();
    const next = await store(page, "key");
    expect(await statusOf(service.baseUrl, next)).toBe(200);
    await page
      .getByRole("row", { name: /test 2/ })
      .first()
      .waitFor();
    await page.getByText("Unused since").waitFor();

    // Somebody still uses the old one: the list finds out by itself.
    expect(await statusOf(service.baseUrl, owner.key)).toBe(200);
    await page.getByText("Still used:").waitFor();
    await page.getByText(/last request .* from 127\.0\.0\.1/).waitFor();

    await page.getByRole("button", { name: "Revoke test", exact: true }).click();
    await page.getByLabel(/to confirm/).fill("test");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await statusOf(service.baseUrl, owner.key)).toBe(401);
    expect(await statusOf(service.baseUrl, next)).toBe(200);
  });

  it("shows where it was used from and how often", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const page = await pageOf(owner);
    const row = page.getByRole("row", { name: /test/ });
    await row.getByText("never").waitFor();
    for (let number = 0; number < 3; number++) await statusOf(service.baseUrl, owner.key);
    await row.getByText("127.0.0.1").waitFor();
    expect(await row.getByRole("definition").allTextContents()).toEqual(["3", "3", "3"]);
  });
});

describe.skipIf(!hasBrowser)("a management token", () => {
  it("is created, shown once, used by a script, and revoked", async () => {
    const owner = await signUp(service.baseUrl);
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Management tokens" }).click();
    await page.getByText("Most accounts need none").waitFor();
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("rotation");
    await page.getByLabel("It holds for").selectOption("No expiry");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const token = await store(page, "token");
    expect(token).toMatch(/^mt-/);
    await page
      .getByRole("row", { name: /rotation/ })
      .getByText("until revoked")
      .waitFor();

    const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    expect((await trpc.keys.create.mutate({ name: "by script" })).name).toBe("by script");
    await page.reload();
    await page
      .getByRole("row", { name: /rotation/ })
      .getByText("127.0.0.1")
      .waitFor();
    expect(await page.content()).not.toContain(token);

    await page.getByRole("button", { name: "Revoke rotation" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke token" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: /rotation/ })
      .getByText("revoked")
      .waitFor();
    expect((await refusalOf(trpc.keys.list.query())).code).toBe("invalid_management_token");
  });
});

describe.skipIf(!hasBrowser)("the account", () => {
  it("tells its plan, limits and IP rules, and whether an address would pass", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const operator = await signInOperator(service.baseUrl);
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "enterprise" });
    const rules = { networks: ["192.0.2.0/24", "2001:db8::/32"] };
    await operator.trpc.operator.accounts.setIpRules.mutate({ id, rules });
    const limits = { requestsPerMinute: 1_234, tokensPerMinute: null, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("at most 1,234").waitFor();
    await page.getByText("$5.00").waitFor();
    await page.getByText("from these addresses only").waitFor();
    await page.getByText("by the operator of the service").first().waitFor();
    expect(await page.content()).not.toContain(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    const check = async (address: string, words: RegExp) => {
      await page.getByLabel("Would this address pass?").fill(address);
      await page.getByRole("button", { name: "Check" }).click();
      await page.getByText(words).waitFor();
    };
    await check("192.0.2.7", /passes\.$/);
    await check("198.51.100.1", /refused with 403/);
    await check("here", /must be an IPv4 or IPv6 address/i);
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "pro" });
    await page.reload();
    await page.getByText("kept, but not enforced").waitFor();
  });

  it("changes its user's password, which ends the other sessions", async () => {
    const owner = await signUp(service.baseUrl);
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByLabel("Current password").fill("not the password");
    await page.getByLabel("New password").fill("another long password");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("current password is wrong").waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("The password is changed").waitFor();
    expect(await owner.trpc.auth.me.query()).toBeNull();
    await page.getByText("Password changed").waitFor();
  });

  it("lists where its user is signed in, ends one session, and all", async () => {
    const owner = await signUp(service.baseUrl);
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("Chrome on Linux").waitFor();
    await page.getByRole("button", { name: /^End the session/ }).click();
    await expect.poll(() => owner.trpc.auth.me.query()).toBeNull();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("an operator at the dashboard", () => {
  it("finds what they can do, and no account's pages", async () => {
    const { page } = await openPage(browser, service.baseUrl);
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    await page.getByLabel("Password").fill(OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Operator", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    await page.goto("/audit");
    await page.getByRole("heading", { name: "Operator", exact: true }).waitFor();
  });
});
