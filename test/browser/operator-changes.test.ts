import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { toastOf } from "../fixtures/menu.ts";
import { outcomeOf, statusOf } from "../fixtures/request.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import { chooseAction, idOf, openAccount, openConsoleSite, panel } from "./console-site.ts";

const consoleSite = openConsoleSite();

describe.skipIf(!hasBrowser)("an operator who changes an account", () => {
  it("tries an address before they set IP rules, which are enforced from then on", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    await openAccount(page, owner, "access");
    const plan = await chooseAction(page, "Change plan");
    await plan.getByLabel("Plan").selectOption("Enterprise");
    await plan.getByRole("button", { name: "Save plan" }).click();
    await toastOf(page, "Plan changed to Enterprise").waitFor();

    const rules = panel(page, "IP rules");
    const verdict = (by: string) =>
      rules.getByRole("definition").and(rules.locator(`dt:text-is("${by}") + dd`));
    await rules.getByLabel("Networks").fill("192.0.2.0/24, 2001:db8::/32");
    await rules.getByText("outside these 2 networks are refused").waitFor();
    await rules.getByLabel("Test an address").fill("127.0.0.1");
    await page.keyboard.press("Enter");
    await verdict("As typed").getByText("refused with 403").waitFor();
    await verdict("In force now").getByText("allowed").waitFor();
    expect(await statusOf(consoleSite.site.service.baseUrl, owner.key)).toBe(200);
    // An answer does not outlive its question.
    await rules.getByLabel("Test an address").fill("192.0.2.7");
    expect(await rules.getByText("Request refused").count()).toBe(0);
    await rules.getByRole("button", { name: "Check" }).click();
    await verdict("As typed").getByText("allowed").waitFor();

    await rules.getByLabel("Reason").fill("only from their data centre");
    await rules.getByRole("button", { name: "Save IP rules" }).click();
    await toastOf(page, "IP rules saved").waitFor();
    expect(await outcomeOf(consoleSite.site.service.baseUrl, owner.key)).toEqual({
      status: 403,
      code: "ip_blocked",
    });
    await page.reload();
    expect(await rules.getByLabel("Networks").inputValue()).toBe("192.0.2.0/24\n2001:db8::/32");

    await rules.getByRole("button", { name: "Report only" }).click();
    await rules.getByRole("button", { name: "Save IP rules" }).click();
    await toastOf(page, "IP rules saved").waitFor();
    expect(await statusOf(consoleSite.site.service.baseUrl, owner.key)).toBe(200);
  });

  it("is told that IP rules are kept and not enforced on another plan", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = consoleSite.operator.trpc.operator;
    await accounts.setPlan.mutate({ id, plan: "enterprise" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24"] } });
    await openAccount(page, owner, "access");
    const plan = await chooseAction(page, "Change plan");
    await plan.getByLabel("Plan").selectOption("Free");
    await plan.getByRole("button", { name: "Save plan" }).click();
    // The service's words, and the page's own.
    await page.getByText("kept but no longer enforced").waitFor();
    await panel(page, "IP rules").getByText("stored but not enforced").waitFor();
    const rules = panel(page, "IP rules");
    await rules.getByLabel("Test an address").fill("127.0.0.1");
    await rules.getByRole("button", { name: "Check" }).click();
    await rules.getByText("refused with 403 on the enterprise plan").waitFor();
  });

  it("sets limits, and goes back to what the plan says", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const limits = async () =>
      (await consoleSite.operator.trpc.operator.accounts.get.query({ id: await idOf(owner) })).limits;
    await openAccount(page, owner, "access");
    const form = panel(page, "Limits");
    const set = form.getByRole("button", { name: "Save limits" });
    await form.getByLabel("Requests per minute").fill("1200");
    await form.getByLabel("Tokens per minute").fill("many");
    await set.click();
    await form.getByRole("alert").getByText("Enter a whole number").waitFor();
    await form.getByLabel("Tokens per minute").fill("9,0000");
    await set.click();
    await form.getByRole("alert").getByText("Enter a whole number").waitFor();
    await form.getByLabel("Tokens per minute").fill("90,000,000");
    await set.click();
    await toastOf(page, "Limits saved").waitFor();
    expect(await limits()).toEqual({
      requestsPerMinute: 1_200,
      tokensPerMinute: 90_000_000,
      concurrentRequests: null,
    });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Save limits");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await toastOf(page, "Limits saved").waitFor({ state: "detached" });
    await form.getByLabel("Requests per minute").fill("");
    await set.click();
    await toastOf(page, "Limits saved").waitFor();
    expect((await limits()).requestsPerMinute).toBeNull();
  });

  it("grants credits to the last digit, and takes them back", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const balance = async () => (await owner.trpc.credits.balance.query()).balanceNanoUsd;
    await openAccount(page, owner);
    let form = await chooseAction(page, "Grant or deduct credit");
    // The dialog says whose credit it is, and begins with the amount.
    await form.getByRole("heading", { name: "Grant or deduct credit of “Test”" }).waitFor();
    await form.locator("input:focus").and(form.getByLabel("Amount in US dollars")).waitFor();
    await page.keyboard.type("1,5");
    await form.getByLabel("Reason").fill("order 1042");
    await page.keyboard.press("Enter");
    await form.getByRole("alert").getByText("Enter an amount").waitFor();
    // A thousand or one: the page does not guess. A sum that it has written can be pasted.
    await form.getByLabel("Amount in US dollars").fill("1,500");
    await form.getByRole("alert").getByText("Enter 1500.00 or 1.500.").waitFor();
    await form.getByLabel("Amount in US dollars").fill("$1,500.00");
    await form.getByText("New balance: $1,505.00.").waitFor();
    // A sum that no float holds.
    await form.getByLabel("Amount in US dollars").fill("9007199.254740993");
    await form.getByText("New balance: $9,007,204.254740993.").waitFor();
    await form.getByLabel("Amount in US dollars").fill("1234567.000000001");
    await form.getByRole("button", { name: "Grant $1,234,567.000000001" }).click();
    await page.getByText(/The new balance is \$1,234,572\.000000001\./).waitFor();
    expect(await balance()).toBe(1_234_572_000_000_001n);
    await page.getByRole("link", { name: "Credit", exact: true }).click();
    await page.getByRole("button", { name: "Grant or deduct credit" }).click();
    form = page.getByRole("dialog");
    await form.getByRole("button", { name: "Deduct" }).first().click();
    await form.getByLabel("Amount in US dollars").fill("1234567");
    await form.getByLabel("Reason").fill("typed twice");
    await form.getByRole("button", { name: "Deduct $1,234,567.00" }).click();
    await page.getByText(/The new balance is \$5\.000000001\./).waitFor();
    expect(await balance()).toBe(5_000_000_001n);
    await panel(page, "Summary").getByText("$5.000000001").waitFor();
  });

  it("is told by the service what is wrong with a network", async () => {
    const { page } = await consoleSite.open();
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner, "access");
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

  it("finds what they were typing after signing in again, if their session has ended", async () => {
    const owner = await signUp(consoleSite.site.service.baseUrl);
    const { page } = await consoleSite.open();
    await openAccount(page, owner, "access");
    const networks = page.getByLabel("Networks");
    const typed = "203.0.113.0/24\n2001:db8::/32";
    await networks.fill(typed);
    const limits = panel(page, "Limits");
    await limits.getByLabel("Tokens per minute").fill("120000");
    await limits.getByLabel("Reason").fill("order 1042");
    const cookies = await page.context().cookies();
    const endSession = async (button: string) => {
      await page.context().clearCookies();
      await page.getByRole("button", { name: button }).click();
      await page.getByText("Your session has ended.").waitFor();
      // As after signing in with the form, which the service would count.
      await page.context().addCookies(cookies);
      await openAccount(page, owner, "access");
    };
    await endSession("Save IP rules");
    await expect.poll(() => networks.inputValue()).toBe(typed);
    expect(await limits.getByLabel("Tokens per minute").inputValue()).toBe("120000");
    expect(await limits.getByLabel("Reason").inputValue()).toBe("order 1042");
    const grant = await chooseAction(page, "Grant or deduct credit");
    await grant.getByLabel("Amount in US dollars").fill("25");
    await grant.getByLabel("Reason").fill("invoice 7");
    await endSession("Grant $25.00");
    await chooseAction(page, "Grant or deduct credit");
    expect(await grant.getByLabel("Amount in US dollars").inputValue()).toBe("25");
    expect(await grant.getByLabel("Reason").inputValue()).toBe("invoice 7");
    await grant.getByRole("button", { name: "Grant $25.00" }).click();
    await toastOf(page, "$25.00 granted").waitFor();
    // A dialog that has been closed has no draft.
    await chooseAction(page, "Grant or deduct credit");
    expect(await grant.getByLabel("Amount in US dollars").inputValue()).toBe("");
    // Who leaves a form, or reloads it, has discarded it.
    await page.reload();
    await networks.waitFor();
    expect(await networks.inputValue()).toBe("");
  });

  it("learns that a change could not be made, and keeps what they typed", async () => {
    const { page } = await consoleSite.open();
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const form = await chooseAction(page, "Grant or deduct credit");
    await form.getByLabel("Amount in US dollars").fill("25");
    await form.getByLabel("Reason").fill("order 1042");
    await page.route("**/trpc/operator.accounts.grantCredits**", (route) => route.abort());
    await form.getByRole("button", { name: "Grant $25.00" }).click();
    await form.getByRole("alert").getByText("can't be reached. The change may have been recorded.").waitFor();
    expect(await form.getByLabel("Reason").inputValue()).toBe("order 1042");
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(5_000_000_000n);
  });

  it("tries a grant again whose answer was lost, which is booked once", async () => {
    const { page } = await consoleSite.open();
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const form = await chooseAction(page, "Grant or deduct credit");
    await form.getByLabel("Amount in US dollars").fill("25");
    await form.getByLabel("Reason").fill("order 1043");
    await page.route(
      "**/trpc/operator.accounts.grantCredits**",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    const button = form.getByRole("button", { name: "Grant $25.00" });
    await button.click();
    await form.getByRole("alert").getByText("You can try again").waitFor();
    await button.click();
    await page.getByText("The new balance is $30.00.").waitFor();
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(30_000_000_000n);
  });

  it("edits a grant whose answer is lost, and is told that the first was recorded", async () => {
    const { page } = await consoleSite.open();
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const form = await chooseAction(page, "Grant or deduct credit");
    await form.getByLabel("Amount in US dollars").fill("25");
    await form.getByLabel("Reason").fill("order 1044");
    let lose = () => {};
    const lost = new Promise<void>((resolve) => {
      lose = resolve;
    });
    let asked = 0;
    await page.route("**/trpc/operator.accounts.grantCredits**", async (route) => {
      asked++;
      if (asked > 1) return route.fallback();
      await route.fetch();
      await lost;
      await route.abort();
    });
    await form.getByRole("button", { name: "Grant $25.00" }).click();
    await form.getByLabel("Amount in US dollars").fill("26");
    // Typing does not free the button while the grant is under way.
    const button = form.getByRole("button", { name: "Grant $26.00" });
    expect(await button.getAttribute("aria-busy")).toBe("true");
    await form.getByLabel("Reason").press("Enter");
    lose();
    const alert = form.getByRole("alert");
    await alert.getByText("The change may have been recorded.").waitFor();
    expect(asked).toBe(1);
    await form.getByLabel("Reason").fill("order 1045");
    await alert.getByText("The change may have been recorded.").waitFor();
    await button.click();
    await alert.getByText("An earlier attempt was recorded. Close this dialog").waitFor();
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(30_000_000_000n);
  });

  it("is told that a grant may have been recorded where the service failed or did not answer in time", async () => {
    const { page } = await consoleSite.open();
    await page.addInitScript(() => {
      const timeout = AbortSignal.timeout.bind(AbortSignal);
      AbortSignal.timeout = (ms) => timeout("hurried" in window ? 1 : ms);
    });
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const form = await chooseAction(page, "Grant or deduct credit");
    await form.getByLabel("Amount in US dollars").fill("25");
    await form.getByLabel("Reason").fill("order 1046");
    const message = "The service is overloaded.";
    const error = { message, type: "server_error", param: null, code: "server_is_overloaded" };
    let isStalled = false;
    await page.route("**/trpc/operator.accounts.grantCredits**", async (route) => {
      if (isStalled) return;
      await route.fetch();
      await route.fulfill({ status: 503, json: { error } });
    });
    const button = form.getByRole("button", { name: "Grant $25.00" });
    await button.click();
    const alert = form.getByRole("alert");
    await alert.getByText(`${message} The change may have been recorded.`).waitFor();
    isStalled = true;
    await page.evaluate(() => void Object.assign(window, { hurried: true }));
    await button.click();
    await alert.getByText("did not answer in time. The change may have been recorded.").waitFor();
    expect(await alert.getByText("reload").count()).toBe(0);
    await page.evaluate(() => void Reflect.deleteProperty(window, "hurried"));
    await page.unrouteAll();
    await button.click();
    await page.getByText("The new balance is $30.00.").waitFor();
  });

  it("is told how much was deducted from an account that has less than they asked for", async () => {
    const { page } = await consoleSite.open();
    const owner = await signUp(consoleSite.site.service.baseUrl);
    await openAccount(page, owner);
    const form = await chooseAction(page, "Grant or deduct credit");
    await form.getByRole("button", { name: "Deduct" }).first().click();
    await form.getByLabel("Amount in US dollars").fill("100");
    await form.getByText("The balance is $5.00. No more than that is deducted.").waitFor();
    await form.getByLabel("Reason").fill("typed twice");
    await form.getByRole("button", { name: "Deduct $100.00" }).click();
    await toastOf(page, "$5.00 deducted").waitFor();
  });

  it("never sees a console error, a breach of the content policy or a request to another host", () => {
    expect(consoleSite.watched.complaints).toEqual([]);
  });
});
