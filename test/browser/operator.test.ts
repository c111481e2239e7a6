import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { OPERATOR_ENV, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { outcomeOf, statusOf } from "../fixtures/request.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

/** The service's own, at the upstreams. */
const CREDENTIAL = "upstream-secret-4711";

let modelServer: ModelServer;
let catalog: CatalogFile;
let operator: Visitor;
let watched: WatchedPage;
/** What the models of each upstream answer with. */
const answers = { well: 200, flaky: 200, locked: 200 };

const site = openSite(async () => {
  modelServer = await startModelServer((request) => {
    const name = /^\/v1\/(\w+)/.exec(request.path)?.[1];
    const status = name === "flaky" || name === "locked" ? answers[name] : answers.well;
    if (status === 200) answerWhole(request);
    else request.response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  const upstream = (name: string) => ({
    dialect: "openai",
    baseUrl: `${modelServer.baseUrl}/${name}`,
    credentialEnv: "UPSTREAM_KEY",
    breaker: { failures: 1, openMs: 60_000 },
  });
  const model = (name: string) => ({
    id: `models/${name}`,
    aliases: [`alias-of-${name}`],
    prices: { inputUsdPerMTok: "2.50", outputUsdPerMTok: "10.00" },
    routes: [{ upstream: name, model: "inner" }],
  });
  catalog = await writeCatalog({
    upstreams: { well: upstream("well"), flaky: upstream("flaky"), locked: upstream("locked") },
    models: [model("well"), model("flaky"), model("locked")],
  });
  const env = { OSTIARY_CATALOG: catalog.file, UPSTREAM_KEY: CREDENTIAL };
  return startOperatedService({ env });
});

beforeAll(async () => {
  if (!hasBrowser) return;
  operator = await signInOperator(site.service.baseUrl);
  watched = await openConsole();
});

afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
  await modelServer?.[Symbol.asyncDispose]();
});

/** A browser in which an operator is signed in. */
async function openConsole(options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const opened = await site.open(operator, "/operator", options);
  await heading(opened.page, "Accounts").waitFor();
  return opened;
}

function heading(page: Page, name: string): Locator {
  return page.getByRole("heading", { level: 1, name, exact: true });
}

function panel(page: Page, name: string): Locator {
  return page.getByRole("region", { name, exact: true });
}

async function idOf(owner: Owner): Promise<string> {
  return (await owner.trpc.account.get.query()).id;
}

/** The page of an owner's account. */
async function openAccount(page: Page, owner: Owner): Promise<void> {
  await page.goto(`/operator/accounts/${await idOf(owner)}`);
  await panel(page, "Facts").waitFor();
}

/** A secret that is shown once. */
async function takePassword(page: Page): Promise<string> {
  const password = (await page.getByTestId("password-string").textContent()) ?? "";
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  return password;
}

function ask(key: string, model: string): Promise<Response> {
  return fetch(`${site.service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
  });
}

describe.skipIf(!hasBrowser)("an operator at the dashboard", () => {
  it("finds the console, and no account's pages", async () => {
    const { page } = watched;
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    for (const path of ["/", "/audit", "/settings/keys"]) {
      await page.goto(path);
      await heading(page, "Accounts").waitFor();
      expect(new URL(page.url()).pathname).toBe("/operator");
    }
  });

  it("finds an account by its user's e-mail address, and comes back to what they searched for", async () => {
    const { page } = watched;
    const [owner, other] = [await signUp(site.service.baseUrl), await signUp(site.service.baseUrl)];
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
    const { page } = watched;
    const [free, pro, suspended] = [
      await signUp(site.service.baseUrl),
      await signUp(site.service.baseUrl),
      await signUp(site.service.baseUrl),
    ];
    const { accounts } = operator.trpc.operator;
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

  it("reads on in a list that is longer than a page, without losing their place", async () => {
    const { page } = watched;
    const owner = await signUp(site.service.baseUrl);
    const id = await idOf(owner);
    const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
    for (let number = 1; number <= 20; number++) {
      const limits = { ...unlimited, requestsPerMinute: number };
      await operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    }
    await openAccount(page, owner);
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
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("No more changes");
  });

  it("makes an account, whose user signs in with the password that was shown once", async () => {
    const { page } = watched;
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
    const user = visit(site.service.baseUrl);
    await user.trpc.auth.signIn.mutate({ email, password });
    expect((await user.trpc.account.get.query()).plan).toBe("enterprise");
  });

  it("suspends an account with a reason, and its keys are refused at once, till it is reinstated", async () => {
    const { page } = watched;
    const owner = await signUpWithKey(site.service.baseUrl);
    await openAccount(page, owner);
    await page.getByRole("button", { name: "Suspend", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/Every request with a key of this account is refused/).waitFor();
    // Not without a reason.
    await dialog.getByRole("button", { name: "Suspend account" }).click();
    expect(await dialog.isVisible()).toBe(true);
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(200);
    await dialog.getByLabel("Reason").fill("unpaid since March");
    await page.keyboard.press("Enter");
    await page.getByText("Account suspended.").waitFor();
    expect(await outcomeOf(site.service.baseUrl, owner.key)).toEqual({
      status: 403,
      code: "account_suspended",
    });
    await panel(page, "State").getByText("unpaid since March").waitFor();
    await panel(page, "Facts").getByText("suspended").waitFor();
    const trail = panel(page, "Audit trail");
    await trail.getByRole("row", { name: /Account suspended/ }).waitFor();

    await page.getByRole("button", { name: "Reinstate", exact: true }).click();
    await page.getByLabel("Reason (optional)").last().fill("paid");
    await page.getByRole("button", { name: "Reinstate account" }).click();
    await page.getByText("Account reinstated.").waitFor();
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(200);
    await trail
      .getByRole("row", { name: /Account reinstated/ })
      .getByText("paid")
      .first()
      .waitFor();
    const focused = await page.evaluate(() => document.activeElement?.textContent);
    expect(focused).toBe("Suspend");
  });

  it("tries an address before they set IP rules, which are enforced from then on", async () => {
    const { page } = watched;
    const owner = await signUpWithKey(site.service.baseUrl);
    await openAccount(page, owner);
    await panel(page, "Plan").getByLabel("Plan").selectOption("Enterprise");
    await page.getByRole("button", { name: "Save plan" }).click();
    await panel(page, "Plan").getByText("Plan changed to enterprise.").waitFor();

    const rules = panel(page, "IP rules");
    const verdict = (by: string) =>
      rules.getByRole("definition").and(rules.locator(`dt:text-is("${by}") + dd`));
    await rules.getByLabel("Networks").fill("192.0.2.0/24, 2001:db8::/32");
    await rules.getByText("outside these 2 networks are refused").waitFor();
    await rules.getByLabel("Test an address").fill("127.0.0.1");
    await page.keyboard.press("Enter");
    await verdict("As typed").getByText("refused with 403").waitFor();
    await verdict("In force now").getByText("allowed").waitFor();
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(200);
    // An answer does not outlive its question.
    await rules.getByLabel("Test an address").fill("192.0.2.7");
    expect(await rules.getByText("Request refused").count()).toBe(0);
    await rules.getByRole("button", { name: "Check" }).click();
    await verdict("As typed").getByText("allowed").waitFor();

    await rules.getByLabel("Reason").fill("only from their data centre");
    await rules.getByRole("button", { name: "Save IP rules" }).click();
    await rules.getByText("IP rules saved.").waitFor();
    expect(await outcomeOf(site.service.baseUrl, owner.key)).toEqual({ status: 403, code: "ip_blocked" });
    await page.reload();
    expect(await rules.getByLabel("Networks").inputValue()).toBe("192.0.2.0/24\n2001:db8::/32");

    await rules.getByRole("button", { name: "Report only" }).click();
    await rules.getByRole("button", { name: "Save IP rules" }).click();
    await rules.getByText("IP rules saved.").waitFor();
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(200);
  });

  it("is told that IP rules are kept and not enforced on another plan", async () => {
    const { page } = watched;
    const owner = await signUp(site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = operator.trpc.operator;
    await accounts.setPlan.mutate({ id, plan: "enterprise" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24"] } });
    await openAccount(page, owner);
    await panel(page, "Plan").getByLabel("Plan").selectOption("Free");
    await page.getByRole("button", { name: "Save plan" }).click();
    // The service's words, and the page's own.
    await panel(page, "Plan").getByText("kept but no longer enforced").waitFor();
    await panel(page, "IP rules").getByText("stored but not enforced").waitFor();
    const rules = panel(page, "IP rules");
    await rules.getByLabel("Test an address").fill("127.0.0.1");
    await rules.getByRole("button", { name: "Check" }).click();
    await rules.getByText("refused with 403 on the enterprise plan").waitFor();
  });

  it("sets limits, and goes back to what the plan says", async () => {
    const { page } = watched;
    const owner = await signUp(site.service.baseUrl);
    const limits = async () =>
      (await operator.trpc.operator.accounts.get.query({ id: await idOf(owner) })).limits;
    await openAccount(page, owner);
    const form = panel(page, "Limits");
    const set = form.getByRole("button", { name: "Save limits" });
    await form.getByLabel("Requests per minute").fill("1200");
    await form.getByLabel("Tokens per minute").fill("many");
    await set.click();
    await form.getByRole("alert").getByText("Enter a whole number").waitFor();
    await form.getByLabel("Tokens per minute").fill("90000");
    await set.click();
    await form.getByText("Limits saved.").waitFor();
    expect(await limits()).toEqual({
      requestsPerMinute: 1_200,
      tokensPerMinute: 90_000,
      concurrentRequests: null,
    });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Save limits");
    await form.getByLabel("Requests per minute").fill("");
    await set.click();
    await form.getByText("Limits saved.").waitFor();
    expect((await limits()).requestsPerMinute).toBeNull();
  });

  it("grants credits to the last digit, and takes them back", async () => {
    const { page } = watched;
    const owner = await signUp(site.service.baseUrl);
    const balance = async () => (await owner.trpc.credits.balance.query()).balanceNanoUsd;
    await openAccount(page, owner);
    const form = panel(page, "Credits");
    await form.getByLabel("Amount in US dollars").fill("1,5");
    await form.getByLabel("Reason").fill("order 1042");
    await page.keyboard.press("Enter");
    await form.getByRole("alert").getByText("Enter an amount").waitFor();
    // A sum that no float holds.
    await form.getByLabel("Amount in US dollars").fill("9007199.254740993");
    await form.getByText("New balance: $9,007,204.254740993.").waitFor();
    await form.getByLabel("Amount in US dollars").fill("1234567.000000001");
    await form.getByRole("button", { name: "Grant $1,234,567.000000001" }).click();
    await form.getByText("The new balance is $1,234,572.000000001.").waitFor();
    expect(await balance()).toBe(1_234_572_000_000_001n);
    await form.getByRole("button", { name: "Deduct" }).first().click();
    await form.getByLabel("Amount in US dollars").fill("1234567");
    await form.getByLabel("Reason").fill("typed twice");
    await form.getByRole("button", { name: "Deduct $1,234,567.00" }).click();
    await form.getByText("The new balance is $5.000000001.").waitFor();
    expect(await balance()).toBe(5_000_000_001n);
    await panel(page, "Facts").getByText("$5.000000001").waitFor();
  });

  it("resets a user's password, which is shown once and ends their sessions", async () => {
    const { page } = watched;
    const owner = await signUp(site.service.baseUrl);
    await openAccount(page, owner);
    await page.getByRole("button", { name: `Reset password of ${owner.email}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reset password" }).click();
    const password = await takePassword(page);
    expect(await page.content()).not.toContain(password);
    expect(await owner.trpc.auth.me.query()).toBeNull();
    await owner.trpc.auth.signIn.mutate({ email: owner.email, password });
    await expect(owner.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD })).rejects.toThrow();
  });

  it("reads in the trail who changed what, with what it was before", async () => {
    const { page } = watched;
    const owner = await signUpWithKey(site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = operator.trpc.operator;
    await accounts.setPlan.mutate({ id, plan: "enterprise", reason: "signed in May" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24", "198.51.100.7"] } });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24"], mode: "report" } });
    const limits = { requestsPerMinute: 1_200, tokensPerMinute: null, concurrentRequests: null };
    await accounts.setLimits.mutate({ id, limits });
    await accounts.grantCredits.mutate({ id, amountNanoUsd: -2_500_000_000n, reason: "refunded" });
    await owner.trpc.keys.revoke.mutate({ id: owner.id });

    await page.goto("/operator/trail");
    const textOf = async (change: RegExp) =>
      (await page.getByRole("row", { name: change }).first().textContent()) ?? "";
    await page
      .getByRole("row", { name: /Key revoked: “test”/ })
      .first()
      .waitFor();
    expect(await textOf(/Key revoked/)).toContain(`…${owner.key.slice(-4)}`);
    expect(await textOf(/Key revoked/)).toContain(owner.email);
    const taken = await textOf(/Credits deducted/);
    for (const words of ["−$2.50", "$5.00", "became", "$2.50", "refunded", "127.0.0.1"]) {
      expect(taken).toContain(words);
    }
    expect(taken).toContain(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    expect(await textOf(/Limits changed/)).toMatch(/Requests per minuteplan default became.*1,200/);
    expect(await textOf(/IP rules changed/)).toMatch(/enforced became.*report only/);
    expect(await textOf(/Networks removed/)).toContain("198.51.100.7");
    expect(await textOf(/Plan changed/)).toMatch(/signed in May.*free became.*enterprise/);

    await page
      .getByRole("row", { name: /Plan changed/ })
      .first()
      .getByRole("link", { name: "Test" })
      .click();
    await panel(page, "Facts").waitFor();
    await panel(page, "Audit trail")
      .getByRole("row", { name: /Signed up/ })
      .waitFor();
  });

  it("sees which upstream is left alone, and why", async () => {
    const { page } = watched;
    const owner = await signUpWithKey(site.service.baseUrl);
    await page.goto("/operator/upstreams");
    await page.getByText("All upstreams are healthy.").waitFor();
    answers.flaky = 500;
    answers.locked = 401;
    expect((await ask(owner.key, "models/flaky")).status).toBeGreaterThanOrEqual(500);
    // It finds out by itself.
    const flaky = page.getByRole("row", { name: /^flaky/ });
    await flaky.getByText("Down", { exact: true }).waitFor();
    await flaky.getByText("paused after failures").waitFor();
    await flaky.getByText("the upstream answered 500").waitFor();
    await page.getByRole("row", { name: /^well/ }).getByText("Healthy").waitFor();
    await page.getByRole("status").getByText("Down: flaky.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await ask(owner.key, "models/locked");
    await page
      .getByRole("alert")
      .getByText(/locked rejected the service's credential/)
      .waitFor();
  });

  it("reads the catalog as it is loaded, without a credential, and searches it", async () => {
    const { page } = watched;
    await page.goto("/operator/catalog");
    const model = page.getByRole("row", { name: /models\/well/ });
    await model.getByText("well as inner").waitFor();
    await model.getByText("$2.50 in, $10.00 out").waitFor();
    await page
      .getByRole("row", { name: /^flaky/ })
      .getByText("set", { exact: true })
      .waitFor();
    expect(await page.content()).not.toContain(CREDENTIAL);
    await page.getByRole("searchbox", { name: "Search" }).fill("alias-of-fl");
    await model.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /models\/flaky/ }).waitFor();
    expect(page.url()).toContain("alias-of-fl");
  });

  it("sees who tried the doors, narrowed to a kind, an account or a source", async () => {
    const { page } = watched;
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    for (let number = 0; number < 2; number++) await statusOf(site.service.baseUrl, owner.key);
    await statusOf(site.service.baseUrl, "sk-nobody");
    await openAccount(page, owner);
    await page.getByRole("main").getByRole("link", { name: "Security events" }).click();
    await heading(page, "Security events").waitFor();
    const row = page.getByRole("row", { name: /Revoked key used/ });
    await row.getByText(`…${owner.key.slice(-4)}`).waitFor();
    await row.getByRole("cell", { name: "2", exact: true }).waitFor();
    expect(await page.getByText("Unknown key", { exact: true }).and(page.locator("td *")).count()).toBe(0);
    await page.getByRole("button", { name: "Show all accounts" }).click();
    await page.getByRole("row", { name: /Unknown key/ }).waitFor();
    await page.getByLabel("Event", { exact: true }).selectOption("Unknown key");
    await page
      .getByRole("row", { name: /Revoked key used/ })
      .first()
      .waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("row", { name: /Unknown key/ }).waitFor();
    await page.getByLabel("Source IP or CIDR").fill("192.0.2.0/24");
    await page.keyboard.press("Enter");
    await page.getByText("No event matches").waitFor();
  });

  it("never sees a console error, a breach of the content policy or a request to another host", () => {
    expect(watched.complaints).toEqual([]);
  });

  it("is told by the service what is wrong with a network", async () => {
    const { page } = await openConsole();
    const owner = await signUp(site.service.baseUrl);
    await openAccount(page, owner);
    const rules = panel(page, "IP rules");
    await rules.getByLabel("Networks").fill("192.0.2.0/24\n10.0.0.0/33");
    await rules.getByRole("button", { name: "Save IP rules" }).click();
    await rules
      .getByRole("alert")
      .getByText(/10\.0\.0\.0\/33/)
      .waitFor();
    expect(await rules.getByLabel("Networks").inputValue()).toContain("192.0.2.0/24");
    await rules.getByRole("button", { name: "Discard changes" }).click();
    expect(await rules.getByLabel("Networks").inputValue()).toBe("");
  });

  it("learns that a change could not be made, and keeps what they typed", async () => {
    const { page } = await openConsole();
    const owner = await signUp(site.service.baseUrl);
    await openAccount(page, owner);
    const form = panel(page, "Credits");
    await form.getByLabel("Amount in US dollars").fill("25");
    await form.getByLabel("Reason").fill("order 1042");
    await page.route("**/trpc/operator.accounts.grantCredits**", (route) => route.abort());
    await form.getByRole("button", { name: "Grant $25.00" }).click();
    await form
      .getByRole("alert")
      .getByText(/before you try again/)
      .waitFor();
    expect(await form.getByLabel("Reason").inputValue()).toBe("order 1042");
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(5_000_000_000n);
  });
});

describe.skipIf(!hasBrowser)("an account owner", () => {
  it("is led away from the console, and loads nothing of it", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.page();
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
    const { page: consolePage } = await site.page();
    const bundle = consolePage.waitForRequest(/\/assets\/console-.*\.js$/);
    await consolePage.goto("/sign-in");
    await consolePage.getByLabel("E-mail").fill(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    await consolePage.getByLabel("Password", { exact: true }).fill(OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
    await consolePage.getByRole("button", { name: "Sign in" }).click();
    await bundle;
  });
});

describe.skipIf(!hasBrowser)("every page of the console", () => {
  const titles: readonly (readonly [path: string, title: string])[] = [
    ["/operator", "Accounts"],
    ["/operator/upstreams", "Upstreams"],
    ["/operator/catalog", "Catalog"],
    ["/operator/security", "Security events"],
    ["/operator/trail", "Audit trail"],
  ];
  let account = "";

  beforeAll(async () => {
    if (!hasBrowser) return;
    const owner = await signUpWithKey(site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = operator.trpc.operator;
    await accounts.setPlan.mutate({ id, plan: "enterprise" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24", "2001:db8::/32"] } });
    await accounts.setPlan.mutate({ id, plan: "free" });
    await accounts.suspend.mutate({
      id,
      reason: `unpaid: ${"a very long word ".repeat(5)}${"x".repeat(60)}`,
    });
    await statusOf(site.service.baseUrl, owner.key);
    account = `/operator/accounts/${id}`;
  });

  const pages = () => [...titles, [account, "Test"] as const];

  async function show(page: Page, path: string, title: string): Promise<void> {
    await page.goto(path);
    await heading(page, title).waitFor();
    await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
  }

  it.each(["light", "dark"] as const)(
    "has nothing that axe finds wrong: %s",
    async (colorScheme) => {
      const { page, complaints } = await openConsole({ colorScheme });
      const wrong: Record<string, readonly string[]> = {};
      const look = async (where: string) => {
        const found = await violationsOf(page);
        if (found.length > 0) wrong[where] = found;
      };
      for (const [path, title] of pages()) {
        await show(page, path, title);
        await look(path);
      }
      await page.getByRole("button", { name: "Reinstate", exact: true }).click();
      await page.getByRole("dialog").waitFor();
      await look("the dialog to reinstate");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
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
    },
    60_000,
  );

  it.each([375, 800, 1_920])(
    "needs no sideways scrolling at %d pixels",
    async (width) => {
      const { page } = await openConsole({ viewport: { width, height: 900 } });
      const beyond: Record<string, number> = {};
      for (const [path, title] of pages()) {
        await show(page, path, title);
        const by = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        if (by > 0) beyond[path] = by;
      }
      expect(beyond).toEqual({});
    },
    60_000,
  );
});
