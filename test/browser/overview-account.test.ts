import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { openOverviewSite } from "./overview-site.ts";

const DAY_MS = 24 * 60 * 60_000;
const overview = openOverviewSite();

describe.skipIf(!hasBrowser)("the credit", () => {
  it("lasts as long as it would at the rate of the last whole days, and warns when that is short", async () => {
    const owner = await overview.ownerWithUsage();
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    const spent = 5_000_000_000n - balanceNanoUsd;
    const leave = (days: bigint) =>
      overview.operator.trpc.operator.accounts.grantCredits.mutate({
        id,
        // And half a day more, so that rounding does not matter.
        amountNanoUsd: (spent * (2n * days + 1n)) / 14n - balanceNanoUsd,
        reason: "test",
      });
    await leave(2n);
    // Tomorrow, today is one of the last whole days.
    const { page } = await overview.pageOf(owner, "/", {}, (page) =>
      page.clock.setFixedTime(Date.now() + DAY_MS),
    );
    const outlook = page.getByText("Lasts about 2 days at the average spend of the last 7 days.", {
      exact: true,
    });
    await outlook.waitFor();
    const toneOf = (text: Locator) =>
      text.evaluate((element) => getComputedStyle(element.closest("section") ?? element).backgroundColor);
    const warning = await toneOf(outlook);

    await overview.operator.trpc.operator.accounts.grantCredits.mutate({
      id,
      amountNanoUsd: spent,
      reason: "test",
    });
    await page.reload();
    const longer = page.getByText("Lasts about 9 days at the average spend of the last 7 days.");
    await longer.waitFor();
    expect(await toneOf(longer)).not.toBe(warning);
  });

  it("has no rate where nothing was spent", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    await overview.chat(owner.key, "no/such");
    const { page } = await overview.pageOf(owner);
    await page.getByText("No spend in the last 7 days.").waitFor();
    await page.getByText("$5.00").first().waitFor();
  });
});

describe.skipIf(!hasBrowser)("the limits", () => {
  it("say how close the account is to each, as it goes", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await overview.operator.trpc.operator.accounts.setLimits.mutate({
      id,
      limits: { requestsPerMinute: 10, tokensPerMinute: null, concurrentRequests: null },
    });
    await overview.chat(owner.key, "sandbox/echo");
    const { page } = await overview.pageOf(owner);
    const requests = page.getByRole("meter", { name: "Requests per minute" });
    await expect.poll(() => requests.getAttribute("aria-valuetext")).toBe("1 of 10");
    await overview.chat(owner.key, "sandbox/echo");
    await expect.poll(() => requests.getAttribute("aria-valuetext")).toBe("2 of 10");
    expect(await page.getByRole("meter", { name: "Active keys" }).getAttribute("aria-valuetext")).toBe(
      "1 of 50",
    );
    await page.getByText("Tokens per minute").locator("..").getByText("no limit").waitFor();
  });
});

describe.skipIf(!hasBrowser)("the operator's usage", () => {
  it("tells who uses what, and leads to the account", async () => {
    const { id, name } = await overview.used.trpc.account.get.query();
    const { page, complaints } = await overview.pageOf(overview.operator, "/operator/usage?by=account");
    // Several accounts have this name: then each has the end of its ID beside it.
    const link = page.getByRole("link", { name: new RegExp(`^${name}( \\(ID …${id.slice(-6)}\\))?$`) });
    await link.waitFor();
    expect(await link.getAttribute("href")).toBe(`/operator/accounts/${id}`);
    await page.getByRole("button", { name: "By model" }).click();
    await page.getByRole("rowheader", { name: "sandbox/lorem" }).waitFor();
    expect(new URL(page.url()).searchParams.get("by")).toBe("model");
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser).each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it.each([
    {
      what: "the way to the first request",
      person: () => signUpWithKey(overview.site.service.baseUrl),
      path: "/",
      shows: "Waiting for the first request…",
    },
    { what: "the overview by key", person: () => overview.used, path: "/?by=key", shows: "second" },
    {
      what: "the overview in time",
      person: () => overview.used,
      path: "/?by=none&range=30d",
      shows: "Show all 30",
    },
    {
      what: "the operator's usage",
      person: () => overview.operator,
      path: "/operator/usage?by=account",
      shows: "Test",
    },
  ])("axe finds nothing wrong with $what", async ({ person, path, shows }) => {
    const { page, complaints } = await overview.pageOf(await person(), path, { colorScheme });
    await page.getByText(shows).first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
