import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { chooseInRow, signOut, toastOf } from "../fixtures/menu.ts";
import { OPERATOR_ENV, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { openSite } from "../fixtures/site.ts";
import { PASSWORD, signUpWithKey, visit } from "../fixtures/user.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite(startOperatedService);

function useKey(key: string): Promise<Response> {
  return sendChat(site.service.baseUrl, key, {
    messages: [{ role: "user", content: "from the browser test" }],
  });
}

describe.skipIf(!hasBrowser)("an account owner in the dashboard", () => {
  const email = `${crypto.randomUUID()}@example.com`;
  let watched: WatchedPage;
  /** The owner's second window, on the audit log. */
  let log: WatchedPage;
  let operator: WatchedPage;
  let key = "";
  let next = "";

  beforeAll(async () => {
    if (!hasBrowser) return;
    watched = await site.page();
    log = await site.page();
    operator = await site.page();
  });

  it("signs up", async () => {
    const { page } = watched;
    await page.goto("/");
    await page.getByRole("link", { name: "Create an account" }).click();
    await page.getByLabel("Account name").fill("Acme");
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText("No keys yet").waitFor();
  });

  it("creates a key, which is shown once, until they say that they have it", async () => {
    const { page } = watched;
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("production");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    key = (await page.getByTestId("key-string").textContent()) ?? "";
    expect(key).toMatch(/^sk-[0-9A-Za-z]{49}$/);
    await page.getByRole("button", { name: "Copy key" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await page.getByTestId("key-string").isVisible()).toBe(true);
    const done = page.getByRole("button", { name: "Done" });
    expect(await done.isDisabled()).toBe(true);
    await page.getByLabel("I have stored it").check();
    await done.click();
    await page.getByRole("row", { name: /production/ }).waitFor();
    expect(await page.content()).not.toContain(key);
    await page.reload();
    await page.getByRole("row", { name: /production/ }).waitFor();
    expect(await page.content()).not.toContain(key);
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]),
    );
    expect(kept).not.toContain(key);
  });

  it("is told when a name is taken", async () => {
    const { page } = watched;
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("production");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page
      .getByRole("dialog")
      .getByRole("alert")
      .getByText(/Choose another name/)
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // The refusal is an HTTP error, which Chromium logs by itself.
    watched.complaints.splice(
      0,
      1,
      ...watched.complaints.slice(0, 1).filter((text) => !text.includes("409")),
    );
  });

  it("asks a model at the playground, and sees the request come into the log in another window", async () => {
    await log.page.goto("/sign-in?to=/audit");
    await fillSignIn(log.page, { email });
    await log.page.getByText("No requests yet").waitFor();
    await log.page.getByRole("button", { name: "Live" }).click();
    await log.page.getByText("Connected").waitFor();

    const { page } = watched;
    await page.getByRole("link", { name: "Playground" }).click();
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.fill("from the playground");
    await message.press("Enter");
    await page.getByText("from the playground").nth(1).waitFor();
    const row = log.page.getByRole("row", { name: /POST \/dashboard\/chat\/completions/ });
    await row.waitFor();
    expect(await row.textContent()).toContain(`…${key.slice(-4)}`);
  });

  it("sees an application's request come into the log", async () => {
    expect((await useKey(key)).status).toBe(200);
    const row = log.page.getByRole("row", { name: /POST \/v1\/chat\/completions/ });
    await row.waitFor();
    expect(await row.textContent()).toContain("127.0.0.1");
    expect(log.complaints).toEqual([]);
  });

  it("rotates the key, and revokes the old one after typing its name: it is refused at once", async () => {
    const { page } = watched;
    await page.getByRole("link", { name: "API keys" }).click();
    await chooseInRow(page, "production", "Rotate");
    await page.getByRole("button", { name: "Create the new key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    next = (await page.getByTestId("key-string").textContent()) ?? "";
    await page.getByLabel("I have stored it").check();
    await page.getByRole("button", { name: "Done" }).click();
    expect((await useKey(next)).status).toBe(200);
    await page.getByRole("button", { name: "Revoke production" }).click();
    const revoke = page.getByRole("dialog").getByRole("button", { name: "Revoke key" });
    expect(await revoke.isDisabled()).toBe(true);
    await page.getByLabel(/to confirm/).fill("production");
    await revoke.click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await useKey(key)).status).toBe(401);
    expect((await useKey(next)).status).toBe(200);
    await log.page.getByText("revoked_api_key").waitFor();
  });

  it("is suspended by an operator, is refused, and is reinstated", async () => {
    const { page } = operator;
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    await page.getByLabel("Password", { exact: true }).fill(OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Accounts" }).waitFor();
    await page.getByRole("searchbox").fill(email);
    await page.getByRole("link", { name: "Acme" }).click();
    await page.getByRole("button", { name: "Actions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Suspend account" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("unpaid");
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await toastOf(page, "Account suspended").waitFor();
    const refused = await useKey(next);
    expect(refused.status).toBe(403);
    expect((await refused.json()).error.code).toBe("account_suspended");

    await watched.page.goto("/settings/account");
    await watched.page.getByText(/This account has been suspended since .* Reason: /).waitFor();

    await page.getByRole("button", { name: "Actions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Reinstate account" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reinstate" }).click();
    await toastOf(page, "Account reinstated").waitFor();
    expect((await useKey(next)).status).toBe(200);
    expect(operator.complaints).toEqual([]);
  });

  it("signs out, is sent to sign in, and comes back to the page they wanted", async () => {
    const { page } = watched;
    await signOut(page);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto("/audit");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await fillSignIn(page, { email });
    await page.getByRole("heading", { name: "Request log" }).waitFor();
  });

  it("never sees a console error, a breach of the content policy or a request to another host", () => {
    expect(watched.complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the dashboard", () => {
  it("does not lead back to the form after signing in", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.page();
    await page.goto("/docs");
    await page.goto("/sign-in?to=/models");
    await fillSignIn(page, owner);
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await page.goBack();
    expect(new URL(page.url()).pathname).toMatch(/^\/docs/);
  });

  it("sends someone whose session ended elsewhere to sign in, and back", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.page();
    await page.goto("/sign-in");
    await fillSignIn(page, owner);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const cookies = await page.context().cookies();
    const elsewhere = visit(site.service.baseUrl, {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
    });
    await elsewhere.trpc.auth.signOut.mutate();
    await page.goto("/audit");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(page.url()).toContain("audit");
  });

  it("says that a session has ended while the page was open, and leads back to it", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("late");
    await page.context().clearCookies();
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page.getByText("Your session has ended.").waitFor();
    // Only the password is to be typed.
    expect(await page.getByLabel("E-mail").inputValue()).toBe(owner.email);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("type")))
      .toBe("password");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await page.getByRole("button", { name: "Create key" }).click();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("late");
  });

  it("leads nobody to another site after signing in", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.page();
    await page.goto("/sign-in?to=//evil.example/");
    await fillSignIn(page, owner);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(new URL(page.url()).origin).toBe(site.service.baseUrl);
    expect(new URL(page.url()).pathname).toBe("/");
  });

  it("comes to the pages before sign-in however their paths are written", async () => {
    const { page } = await site.page();
    await page.goto("/Sign-Up", { waitUntil: "commit" });
    await page.getByRole("heading", { name: "Create an account" }).waitFor();
    await page.goto("/sign-in/?to=/audit", { waitUntil: "commit" });
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(new URL(page.url()).searchParams.get("to")).toBe("/audit");
  });

  it("needs no sideways scrolling on a phone", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await useKey(owner.key);
    const { page } = await site.page({ viewport: { width: 375, height: 800 } });
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill(owner.email);
    expect(await fits()).toBe(true);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await fits()).toBe(true);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Request log" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    await page.getByText("sandbox/echo").first().waitFor();
    expect(await fits()).toBe(true);
  });
});
