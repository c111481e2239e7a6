import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { openSite } from "../fixtures/site.ts";
import { PASSWORD, signUp } from "../fixtures/user.ts";
import { refuseByProxy } from "./fail-procedure.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite();

const PHONE = { viewport: { width: 375, height: 740 } };

/** Refuses a procedure as the service does when there were too many calls. */
async function limit(page: Page, procedure: string, message: string, seconds: number): Promise<void> {
  const data = { httpStatus: 429, ostiary: { code: "rate_limit_exceeded", param: null } };
  const error = { error: { json: { message, code: -32029, data } } };
  await page.route(`**/trpc/${procedure}**`, (route) => {
    const isBatch = new URL(route.request().url()).searchParams.has("batch");
    return route.fulfill({
      status: 429,
      headers: { "retry-after": String(seconds) },
      json: isBatch ? [error] : error,
    });
  });
}

async function changePassword(page: Page): Promise<void> {
  await page.getByLabel("Current password").fill(PASSWORD);
  await page.getByLabel("New password").fill(`${PASSWORD} 2`);
  await page.getByRole("button", { name: "Change password" }).click();
}

describe.skipIf(!hasBrowser)("too many calls", () => {
  it.each([
    {
      message: "Too many attempts. Wait before you try again.",
      seconds: 1,
      told: /^Too many attempts\. Try again in 1 second\.$/,
    },
    {
      message: "Too many attempts. Wait before you try again.",
      seconds: 610,
      told: /^Too many attempts\. Try again in 11 minutes\.$/,
    },
  ])("to sign in are told with the time to wait: $seconds s", async ({ message, seconds, told }) => {
    const { page } = await site.page(PHONE);
    await limit(page, "auth.signIn", message, seconds);
    await page.goto("/sign-in");
    await fillSignIn(page, { email: "somebody@example.com" });
    await page.getByRole("alert").getByText(told).waitFor();
  });

  it("of a change are told with the time to wait, and not by the name of a header", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/settings/account", PHONE);
    const limited = "Rate limit of 600 calls per minute reached.";
    await limit(page, "auth.changePassword", `${limited} Retry after the time in \`retry-after\`.`, 7);
    await changePassword(page);
    await page.getByRole("alert").getByText(`${limited} Try again in 7 seconds.`, { exact: true }).waitFor();
    expect(await page.getByLabel("New password").inputValue()).toBe(`${PASSWORD} 2`);
  });
});

describe.skipIf(!hasBrowser)("what a proxy in front of the service refuses", () => {
  it("is not told as a lost connection, nor as a change that may have been made", async () => {
    const { page } = await site.open(await signUp(site.service.baseUrl), "/settings/account", PHONE);
    await refuseByProxy(page, "auth.changePassword", 403);
    await changePassword(page);
    const alert = page.getByRole("alert");
    await alert
      .getByText("A proxy or firewall in front of the service refused the request (status 403).")
      .waitFor();
    expect(await alert.textContent()).not.toMatch(/may have been|can't be reached/);
    expect(await page.getByText("Connection lost").count()).toBe(0);
  });

  it("is told on the sign-in page too, with the time to wait", async () => {
    const { page } = await site.page(PHONE);
    await refuseByProxy(page, "auth.signIn", 429, { "retry-after": "30" });
    await page.goto("/sign-in");
    await fillSignIn(page, { email: "somebody@example.com" });
    await page.getByRole("alert").getByText("(status 429). Try again in 30 seconds.").waitFor();
  });
});
