import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { OPERATOR_ENV } from "../fixtures/operator.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { CREDENTIAL, heading, idOf, openAccount, openConsoleSite, panel } from "./console-site.ts";

const consoleSite = openConsoleSite();

function ask(key: string, model: string): Promise<Response> {
  return sendChat(consoleSite.site.service.baseUrl, key, {
    model,
    messages: [{ role: "user", content: "hello" }],
  });
}

describe.skipIf(!hasBrowser)("an operator who watches the service", () => {
  it("reads in the trail who changed what, with what it was before", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    const id = await idOf(owner);
    const { accounts } = consoleSite.operator.trpc.operator;
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
    // The end of a key is on one line, however narrow the table is.
    const { width, height } = page.viewportSize() ?? { width: 1_280, height: 720 };
    for (const narrow of [900, 760, 360]) {
      await page.setViewportSize({ width: narrow, height });
      const lines = await page
        .locator("tbody p > code")
        .evaluateAll((codes) =>
          codes.map((code) => new Set([...code.getClientRects()].map(({ y }) => y)).size),
        );
      expect(new Set(lines)).toEqual(new Set([1]));
    }
    await page.setViewportSize({ width, height });
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
    await panel(page, "Summary").waitFor();
    await page.getByRole("link", { name: "History", exact: true }).click();
    await panel(page, "Audit trail")
      .getByRole("row", { name: /Signed up/ })
      .waitFor();
  });

  it("narrows the trail to a change, an author, an address and a text, and tests an upstream", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    const reason = `ticket ${crypto.randomUUID()}`;
    const id = await idOf(owner);
    await consoleSite.operator.trpc.operator.accounts.suspend.mutate({ id, reason });
    await page.goto("/operator/trail");
    await page.getByRole("searchbox", { name: "Search" }).fill(reason.slice(3, 30));
    await page.getByLabel("Change", { exact: true }).selectOption("Account suspended");
    await page.getByRole("row").nth(2).waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: /Account suspended/ })
      .getByText(reason)
      .waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    expect((await download).suggestedFilename()).toMatch(/^audit-trail-.*\.csv$/);
    await page.getByLabel("Author").fill("nobody@");
    await page.keyboard.press("Enter");
    await page.getByText("No change matches").waitFor();
    await page.goto("/operator/upstreams");
    await page.getByRole("button", { name: "Test well" }).click();
    await page.getByRole("row", { name: /^well/ }).getByRole("status").filter({ hasText: /./ }).waitFor();
  });

  it("sees which upstream is left alone, and why", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    consoleSite.answers.flaky = 500;
    consoleSite.answers.locked = 401;
    await page.goto("/operator/upstreams");
    const healthy = page.getByText("All upstreams are healthy.");
    await healthy.waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await ask(owner.key, "models/locked");
    await page
      .getByRole("alert")
      .getByText(/locked rejected the service's credential/)
      .waitFor();
    await page
      .getByRole("row", { name: /^locked/ })
      .getByText("Unauthorized")
      .waitFor();
    expect(await healthy.count()).toBe(0);
    await page.goto("/operator/status");
    await page.getByRole("status").getByText("Credential rejected by locked.").waitFor();
    await page.goto("/operator/upstreams");
    expect((await ask(owner.key, "models/flaky")).status).toBeGreaterThanOrEqual(500);
    // It finds out by itself.
    const flaky = page.getByRole("row", { name: /^flaky/ });
    await flaky.getByText("Down", { exact: true }).waitFor();
    await flaky.getByText("paused after failures").waitFor();
    await flaky.getByText("the upstream answered 500").waitFor();
    await page.getByRole("row", { name: /^well/ }).getByText("Healthy").waitFor();
    await page.getByRole("status").getByText("Down: flaky.").waitFor();
  });

  it("reads the address of an upstream in its parts on a tablet", async () => {
    const { page } = consoleSite.watched;
    const { width, height } = page.viewportSize() ?? { width: 1_280, height: 720 };
    await page.setViewportSize({ width: 768, height });
    await page.goto("/operator/upstreams");
    const address = page.getByRole("row", { name: /^well/ }).locator("code");
    await address.waitFor();
    const brokenParts = await address.evaluate((code) =>
      [...code.childNodes]
        .filter((part) => {
          const range = document.createRange();
          range.selectNodeContents(part);
          return new Set([...range.getClientRects()].map(({ y }) => Math.round(y))).size > 1;
        })
        .map((part) => part.textContent),
    );
    expect(brokenParts).toEqual([]);
    await page.setViewportSize({ width, height });
  });

  it("sees an upstream's charts on one line, with and without a legend", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    consoleSite.answers.flaky = 500;
    await ask(owner.key, "models/flaky");
    await page.goto("/operator/upstreams");
    const charts = panel(page, "flaky over time");
    await charts.getByRole("list", { name: "Series" }).waitFor();
    // A reload, or the link, shows the same time.
    await page.getByRole("button", { name: "7 days" }).click();
    await page.reload();
    await page.getByRole("button", { name: "7 days", pressed: true }).waitFor();
    await charts.getByRole("list", { name: "Series" }).waitFor();
    const feet = await charts
      .getByRole("slider")
      .evaluateAll((plots) => plots.map((plot) => Math.round(plot.getBoundingClientRect().bottom)));
    expect(feet.length).toBeGreaterThan(1);
    expect(new Set(feet).size).toBe(1);
  });

  it("sees an upstream's charts under the time that they are of, until those of another time are there", async () => {
    const { page } = consoleSite.watched;
    await page.goto("/operator/upstreams");
    const chart = page.getByRole("slider", { name: /^Values of Error rate of flaky.*24 hours/ }).first();
    await chart.waitFor();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/operator\.upstreamHistory/, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.getByRole("button", { name: "30 days" }).click();
    await page.locator('[aria-busy="true"]', { has: chart }).waitFor();
    expect(await page.getByText("NaN").count()).toBe(0);
    answer();
    await page
      .getByRole("slider", { name: /^Values of Error rate of flaky.*30 days/ })
      .first()
      .waitFor();
    await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0);
    await page.unrouteAll({ behavior: "wait" });
  });

  it("reads the catalog as it is loaded, without a credential, and searches it", async () => {
    const { page } = consoleSite.watched;
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

  it("sees security events, narrowed to a kind, an account or a source", async () => {
    const { page } = consoleSite.watched;
    const owner = await signUpWithKey(consoleSite.site.service.baseUrl);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    for (let number = 0; number < 2; number++) await statusOf(consoleSite.site.service.baseUrl, owner.key);
    await statusOf(consoleSite.site.service.baseUrl, "sk-nobody");
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
    await page.goBack();
    await panel(page, "Summary").waitFor();
  });

  it("never sees a console error, a breach of the content policy or a request to another host", () => {
    expect(consoleSite.watched.complaints).toEqual([]);
  });
});
