// What holds of every page, whatever is on it.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, openBrowser, openPage, type WatchedPage } from "../fixtures/browser.ts";
import { OPERATOR_ENV, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey } from "../fixtures/user.ts";

interface PageUnderTest {
  readonly path: string;
  /** Its heading. */
  readonly title: string;
}

const OPEN: readonly PageUnderTest[] = [
  { path: "/sign-in", title: "Sign in" },
  { path: "/sign-up", title: "Create an account" },
];
const ACCOUNT: readonly PageUnderTest[] = [
  { path: "/", title: "Overview" },
  { path: "/playground", title: "Playground" },
  { path: "/models", title: "Models" },
  { path: "/audit", title: "Audit log" },
  { path: "/settings/keys", title: "API keys" },
  { path: "/settings/tokens", title: "Management tokens" },
  { path: "/settings/credits", title: "Credits" },
  { path: "/settings/account", title: "Account" },
];
const OPERATOR: readonly PageUnderTest[] = [
  { path: "/operator", title: "Accounts" },
  { path: "/operator/usage", title: "Usage" },
  { path: "/operator/upstreams", title: "Upstreams" },
  { path: "/operator/catalog", title: "Catalog" },
  { path: "/operator/security", title: "Security" },
  { path: "/operator/trail", title: "Audit trail" },
  { path: "/settings/tokens", title: "Management tokens" },
  { path: "/settings/sign-in", title: "Signing in" },
];
const OPERATOR_USER = {
  email: OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL,
  password: OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD,
};
const SCHEMES = ["light", "dark"] as const;
const WIDTHS = [375, 1_440, 1_920];

let service: Service;
let browser: Browser;
let owner: Owner;

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startOperatedService(), openBrowser()]);
  const busy = await signUpWithKey(service.baseUrl);
  for (const model of ["sandbox/echo", "sandbox/lorem", "no/such-model"]) {
    await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${busy.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }], max_tokens: 20 }),
    });
  }
  await busy.trpc.tokens.create.mutate({ name: "script" });
  owner = busy;
});

afterAll(async () => {
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
});

async function signedIn(
  who: { readonly email: string; readonly password?: string } | null,
  scheme: (typeof SCHEMES)[number],
): Promise<WatchedPage> {
  const watched = await openPage(browser, service.baseUrl, { colorScheme: scheme });
  if (who === null) return watched;
  const { page } = watched;
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(who.email);
  await page.getByLabel("Password", { exact: true }).fill(who.password ?? PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  return watched;
}

async function show(page: Page, { path, title }: PageUnderTest): Promise<void> {
  await page.goto(path);
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  // Nothing is still on its way.
  await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
}

const VISITORS = [
  { name: "nobody", pages: OPEN, who: () => null },
  { name: "an owner", pages: ACCOUNT, who: () => owner },
  { name: "the owner of an empty account", pages: ACCOUNT, who: () => signUp(service.baseUrl) },
  { name: "an operator", pages: OPERATOR, who: () => OPERATOR_USER },
];

describe.skipIf(!hasBrowser).each(VISITORS)("every page of $name", ({ pages, who }) => {
  it.each(SCHEMES)(
    "has nothing that axe finds wrong, and no complaint in the console: %s",
    async (scheme) => {
      const { page, complaints } = await signedIn(await who(), scheme);
      const wrong: Record<string, readonly string[]> = {};
      for (const under of pages) {
        await show(page, under);
        const found = await violationsOf(page);
        if (found.length > 0) wrong[under.path] = found;
      }
      expect(wrong).toEqual({});
      expect(complaints).toEqual([]);
    },
    120_000,
  );

  it("fits a phone and a wide screen, without sideways scrolling, and a phone's page passes axe", async () => {
    const { page } = await signedIn(await who(), "light");
    const wrong: Record<string, unknown> = {};
    for (const under of pages) {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await show(page, under);
        const beyond = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        if (beyond > 0) wrong[`${under.path} at ${width}`] = `${beyond} px beyond`;
        const found = width === 375 ? await violationsOf(page) : [];
        if (found.length > 0) wrong[`${under.path} at ${width}`] = found;
      }
    }
    expect(wrong).toEqual({});
  }, 120_000);
});
