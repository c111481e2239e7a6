import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { insertKeys } from "../fixtures/keys.ts";
import { chooseInRow, toastOf } from "../fixtures/menu.ts";
import { OPERATOR_ENV, refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";
import { fillSignIn } from "./sign-in.ts";

const site = openSite(startOperatedService);

async function pageOf(owner: Visitor): Promise<Page> {
  const { page } = await site.page();
  await goToKeys(page, owner);
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
  it("shows where it was used from and how often", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const page = await pageOf(owner);
    const row = page.getByRole("row", { name: /test/ });
    await row.getByText("never").waitFor();
    for (let number = 0; number < 3; number++) await statusOf(site.service.baseUrl, owner.key);
    await row.getByText("127.0.0.1").waitFor();
    await row.getByRole("cell", { name: "3 3 in the last minute" }).waitFor();
  });

  it("says since when it is revoked, and is not there to be revoked again", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    const page = await pageOf(owner);
    const row = page.getByRole("row", { name: /test/ });
    const { keys } = await owner.trpc.keys.list.query();
    const at = await row
      .getByRole("cell", { name: /revoked/ })
      .locator("time")
      .getAttribute("datetime");
    expect(at).toBe(keys[0]?.revokedAt?.toISOString());
    expect(await row.getByRole("button").count()).toBe(0);
  });

  it("is created and revoked by the keyboard alone, which is given back its place", async () => {
    const page = await pageOf(await signUp(site.service.baseUrl));
    const focused = () =>
      page.evaluate(
        () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent,
      );
    await page.getByText("No keys yet").waitFor();
    await page.getByRole("button", { name: "Create key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await page.getByTestId("key-string").waitFor();
    await expect.poll(focused).toBe("Copy key");
    await page.getByLabel("I have stored it").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Create key");

    const openRevocation = async () => {
      await page.keyboard.press("Enter");
      await page.getByRole("menu").waitFor();
      await page.keyboard.press("End");
      await expect.poll(focused).toBe("Revoke");
      await page.keyboard.press("Enter");
      await page.getByLabel(/to confirm/).waitFor();
    };
    await page.getByRole("button", { name: "Actions for by keyboard" }).focus();
    await openRevocation();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Actions for by keyboard");
    await openRevocation();
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: /by keyboard.*revoked/ }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("the list of keys", () => {
  it("is searched by name and key ID, filtered and sorted, and its address says how", async () => {
    const owner = await signUp(site.service.baseUrl);
    for (const name of ["beta", "alpha", "gamma"]) await owner.trpc.keys.create.mutate({ name });
    const { keys } = await owner.trpc.keys.list.query();
    const named = (wanted: string) => keys.find(({ name }) => name === wanted);
    await owner.trpc.keys.revoke.mutate({ id: named("beta")?.id ?? "" });
    const page = await pageOf(owner);
    const shown = async () => {
      const names = await page.getByRole("rowheader").allTextContents();
      return names.map((name) => name.split("…")[0]);
    };
    await expect.poll(shown).toEqual(["gamma", "alpha", "beta"]);
    await page.getByLabel("Sort by").selectOption("Name");
    await expect.poll(shown).toEqual(["alpha", "gamma", "beta"]);
    await page.getByRole("button", { name: "Active", exact: true }).click();
    await expect.poll(shown).toEqual(["alpha", "gamma"]);
    await page.keyboard.press("/");
    await page.keyboard.type("ALPH");
    await expect.poll(shown).toEqual(["alpha"]);
    await page.getByText("1 of 3 keys").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("search")).toBe("ALPH");
    await page.reload();
    await expect.poll(shown).toEqual(["alpha"]);
    expect(await page.getByLabel("Search").inputValue()).toBe("ALPH");
    await page.getByLabel("Search").fill(named("gamma")?.keyId ?? "");
    await expect.poll(shown).toEqual(["gamma"]);
    // From the navigation it is the whole list again.
    await page.getByRole("link", { name: "API keys" }).click();
    await expect.poll(shown).toHaveLength(3);
    expect(await page.getByLabel("Search").inputValue()).toBe("");
  });

  it("stays quick with hundreds of keys, and shows all of them on request", async () => {
    const owner = await signUp(site.service.baseUrl);
    await insertKeys(site.service, owner, 130);
    const page = await pageOf(owner);
    await page.getByText("130 keys", { exact: true }).waitFor();
    await page.getByText("100 of 130 keys shown").waitFor();
    expect(await page.getByRole("rowheader").count()).toBe(100);
    await page.getByRole("button", { name: "Show more keys" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("rowheader").count()).toBe(130);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe("130 of 130 keys shown");
  });
});

describe.skipIf(!hasBrowser)("a management token", () => {
  it("says until when it is valid to the minute, in the reader's time zone: a date alone would promise the rest of its day", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { expiresAt } = await owner.trpc.tokens.create.mutate({ name: "monthly", expiresInDays: 30 });
    const timeZone = "Asia/Kolkata";
    const { page } = await site.open(owner, "/settings/tokens", { timezoneId: timeZone });
    const valid = page.getByRole("row", { name: /monthly/ }).getByText(/^until /);
    const format = { timeZone, dateStyle: "medium", timeStyle: "short" } as const;
    const text = new Intl.DateTimeFormat("en-GB", format).format(expiresAt ?? 0);
    expect(await valid.textContent()).toBe(`until ${text} GMT+5:30`);
    expect(await valid.locator("time").getAttribute("datetime")).toBe(expiresAt?.toISOString());
  });

  it("is created, shown once, used by a script, and revoked", async () => {
    const owner = await signUp(site.service.baseUrl);
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Management tokens" }).click();
    await page.getByText("Create a token to manage keys from a script").waitFor();
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("rotation");
    await page.getByLabel("Expires in").selectOption("Never");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const token = await store(page, "token");
    expect(token).toMatch(/^mt-/);
    await page
      .getByRole("row", { name: /rotation/ })
      .getByText("until revoked")
      .waitFor();

    const { trpc } = visit(site.service.baseUrl, { authorization: `Bearer ${token}` });
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
    const owner = await signUp(site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const operator = await signInOperator(site.service.baseUrl);
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "enterprise" });
    const rules = { networks: ["192.0.2.0/24", "2001:db8::/32"] };
    await operator.trpc.operator.accounts.setIpRules.mutate({ id, rules });
    const limits = { requestsPerMinute: 1_234, tokensPerMinute: null, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("0 of 1,234").waitFor();
    await page.getByText("$5.00").waitFor();
    await page.getByText("from these addresses only").waitFor();
    await page.getByText("by the operator of the service").first().waitFor();
    expect(await page.content()).not.toContain(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    const check = async (address: string, words: RegExp) => {
      await page.getByLabel("Test an address").fill(address);
      await page.getByRole("button", { name: "Check" }).click();
      await page.getByText(words).waitFor();
    };
    await check("192.0.2.7", /are allowed\.$/);
    await check("198.51.100.1", /refused with 403/);
    await check("here", /must be an IPv4 or IPv6 address/i);
    // An answer does not outlive its question, even if it comes late.
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/account\.tryAddress/, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.getByLabel("Test an address").fill("198.51.100.1");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByLabel("Test an address").fill("192.0.2.7");
    const late = page.waitForResponse(/account\.tryAddress/);
    answer();
    await (await late).finished();
    await page.locator('button[aria-busy="false"]', { hasText: "Check" }).waitFor();
    expect(await page.getByText(/refused with 403/).count()).toBe(0);
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "pro" });
    await page.reload();
    await page.getByText("stored but not enforced").waitFor();
  });

  it("changes its user's password, which ends the other sessions", async () => {
    const owner = await signUp(site.service.baseUrl);
    const page = await pageOf(owner);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByLabel("Current password").fill("not the password");
    await page.getByLabel("New password").fill("another long password");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("current password is wrong").waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change password" }).click();
    await toastOf(page, "Password changed").waitFor();
    expect(await owner.trpc.auth.me.query()).toBeNull();
    await page.getByRole("listitem").getByText("Password changed").waitFor();
  });

  it("lists where its user is signed in, ends one session, and all", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.page();
    await page.goto("/sign-in?to=/settings/account");
    await fillSignIn(page, owner);
    await page.getByText("Chrome on Linux").waitFor();
    // Another session of the same program, from the same address, which began in the same second.
    const other = await visit(site.service.baseUrl);
    await other.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    await using sql = await openDatabaseOf(site.service);
    await sql`
      update sessions set created_at = '2026-01-31 12:00:00'
      where user_agent = 'node' and user_id = (select id from users where email = ${owner.email})`;
    await page.reload();
    const buttons = page.getByRole("button", { name: /^Sign out session/ });
    await expect.poll(() => buttons.count()).toBe(2);
    const names = await buttons.evaluateAll((all) => all.map((button) => button.getAttribute("aria-label")));
    expect(new Set(names).size).toBe(2);
    await page.getByText("node (2 of 2)").waitFor();
    await buttons.first().click();
    await expect.poll(() => buttons.count()).toBe(1);
    await buttons.click();
    await expect.poll(() => owner.trpc.auth.me.query()).toBeNull();
    await expect.poll(() => other.trpc.auth.me.query()).toBeNull();
    await page.getByRole("button", { name: /^Sign out session/ }).waitFor({ state: "detached" });
    // The row is gone; the keyboard goes on from its list.
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("sessions");
    // As of a script that signs in for each of its calls. The current session is the first that is shown.
    await sql`
      insert into sessions (digest, user_id, created_at, expires_at, id, last_seen_at)
      select sha256(random()::text::bytea), users.id, now(), now() + interval '1 day', gen_random_uuid(), now() + interval '1 hour'
      from users, generate_series(1, 900) where email = ${owner.email}`;
    await page.reload();
    const rows = page.getByRole("region", { name: "Sessions" }).getByRole("listitem");
    await rows.first().getByText("This session").waitFor();
    expect(await rows.count()).toBe(5);
    await page.getByRole("button", { name: "Show all 901" }).click();
    await expect.poll(() => rows.count()).toBe(901);
    // As the playground keeps chats.
    await page.evaluate(() => {
      sessionStorage.setItem("playground", "a chat");
      indexedDB.open("playground").onsuccess = ({ target }) => (target as IDBOpenDBRequest).result.close();
    });
    const everywhere = page.getByRole("button", { name: "Sign out everywhere" });
    await everywhere.click();
    const dialog = page.getByRole("dialog", { name: "Sign out everywhere?" });
    await dialog.getByText("All your 901 sessions end, including this one.").waitFor();
    await dialog.getByText("The playground's chats are deleted from this browser.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await rows.count()).toBe(901);
    await everywhere.click();
    await dialog.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem("playground"))).toBeNull();
    await expect.poll(() => page.evaluate(() => indexedDB.databases())).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("signing in", () => {
  it("begins with the keyboard in the first field, shows a password on request and warns of Caps Lock", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page, complaints } = await site.page();
    await page.goto("/sign-in");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("email");
    await page.keyboard.type(owner.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    const password = page.getByLabel("Password");
    expect(await password.getAttribute("type")).toBe("password");
    await page.getByRole("button", { name: "Show password" }).click();
    expect(await password.getAttribute("type")).toBe("text");
    await page.getByRole("button", { name: "Hide password" }).click();
    expect(await password.getAttribute("type")).toBe("password");
    await password.dispatchEvent("keydown", { key: "A", modifierCapsLock: true });
    await page.getByText("Caps Lock is on").waitFor();
    // What is sent as text may be kept by the browser.
    await password.fill("not the password");
    await page.getByRole("button", { name: "Show password" }).click();
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(await password.getAttribute("type")).toBe("password");
    complaints.splice(0, 1, ...complaints.slice(0, 1).filter((text) => !text.includes("401")));
    await password.fill(PASSWORD);
    await password.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the dialogs of the settings", () => {
  it.each(["light", "dark"] as const)("pass axe: %s", async (colorScheme) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.rotate.mutate({ id: owner.id });
    await owner.trpc.tokens.create.mutate({ name: "script" });
    const { page, complaints } = await site.page({ colorScheme });
    await goToKeys(page, owner);
    const wrong: Record<string, readonly string[]> = {};
    const look = async (what: string) => {
      await page.getByRole("dialog").waitFor();
      const found = await violationsOf(page);
      if (found.length > 0) wrong[what] = found;
    };
    await page.getByRole("button", { name: "Create key" }).click();
    await look("creating a key");
    await page.getByLabel("Name", { exact: true }).fill("another");
    await page.keyboard.press("Enter");
    await page.getByTestId("key-string").waitFor();
    await look("a key that is shown");
    await store(page, "key");
    await chooseInRow(page, "test", "Revoke");
    await look("revoking a key");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Management tokens" }).click();
    await page.getByRole("button", { name: "Create token" }).click();
    await look("creating a token");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Revoke script" }).click();
    await look("revoking a token");
    expect(wrong).toEqual({});
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("an account with many keys", () => {
  it("is searched, and says when its plan allows no more", async () => {
    const owner = await signUp(site.service.baseUrl);
    await insertKeys(site.service, owner, 50);
    const page = await pageOf(owner);
    await page.getByText("reached its limit of 50 active keys").first().waitFor();
    expect(await page.getByRole("button", { name: "Create key" }).isDisabled()).toBe(true);
    await page.getByLabel("Search").fill("deployment 49");
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    await page.getByLabel("Search").fill("no such key");
    await page.getByText("No key matches").waitFor();
  });
});
