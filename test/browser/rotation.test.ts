import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, type openPage, type WatchedPage } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { chooseInRow } from "../fixtures/menu.ts";
import { statusOf } from "../fixtures/request.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";
import { failProcedure } from "./fail-procedure.ts";

const site = openSite();

const guideOf = (id: string) => `/settings/keys/${id}/rotation`;

async function openGuide(
  owner: Owner & { readonly id: string },
  options: Parameters<typeof openPage>[2] = {},
): Promise<WatchedPage> {
  const watched = await site.page(options);
  await goToKeys(watched.page, owner);
  await watched.page.goto(guideOf(owner.id));
  await watched.page.getByRole("heading", { name: "Rotate “test”" }).waitFor();
  return watched;
}

/** Where one stands, as the page says it. */
function standsAt(page: Page, words: string | RegExp): Promise<void> {
  return page.getByRole("status").getByText(words).waitFor();
}

/** Records the usage of as many other keys of an account as a summary by key has, each of which costs more. */
async function useOtherKeys({ trpc }: Owner): Promise<void> {
  const { id } = await trpc.account.get.query();
  await using sql = await openDatabaseOf(site.service);
  await sql`
    insert into usage_hours (account_id, hour, key, model, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd)
    select ${id}, date_trunc('hour', now()), gen_random_uuid(), 'acme/chat', 1, 0, 1, 1, 0, 1000 from generate_series(1, 200)`;
}

async function createSuccessor(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Create the new key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
  await page.getByTestId("key-string").waitFor();
}

describe.skipIf(!hasBrowser)("the rotation guide", () => {
  it("leads from a key to its successor without an interruption, and knows by itself where one stands", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page, complaints } = await site.page();
    await goToKeys(page, owner);
    await chooseInRow(page, "test", "Rotate");
    await standsAt(page, "Step 1 of 4: Create a new key");

    await page.getByRole("button", { name: "Create the new key" }).click();
    await page.getByLabel("Suggest revoking the old key after").selectOption("1 hour");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const next = (await page.getByTestId("key-string").textContent()) ?? "";
    await page.getByLabel("I have stored it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await standsAt(page, "Step 2 of 4: Update your deployments");
    await page.getByText("export OSTIARY_API_KEY=sk-…").waitFor();
    await page.getByText("No requests yet.").waitFor();

    // A deployment comes with the new key, and another one still with the old.
    expect(await statusOf(site.service.baseUrl, next)).toBe(200);
    await standsAt(page, "Step 3 of 4: Watch the old key's traffic fall to zero");
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(200);
    await page.getByRole("row", { name: /127\.0\.0\.1.*GET \/v1\/models/ }).waitFor();
    await page.getByRole("img", { name: /1 with “test”, 1 with “test 2”/ }).waitFor();
    await page.getByRole("link", { name: "API keys" }).first().click();
    await page.getByText("Still used:").waitFor();
    await chooseInRow(page, "test", "Open rotation");

    await page.getByRole("button", { name: "Revoke test" }).click();
    await page.getByRole("dialog").getByText("This key is in use: 1 request in the last hour").waitFor();
    await page.getByLabel(/to confirm/).fill("test");
    await page.keyboard.press("Enter");
    await standsAt(page, "“test” is revoked. Requests with it return 401.");
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(401);
    expect(await statusOf(site.service.baseUrl, next)).toBe(200);
    // What was forgotten shows.
    await page.getByRole("row", { name: /127\.0\.0\.1.*401/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows no earlier step while the successor is loaded", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { id, key } = await owner.trpc.keys.rotate.mutate({ id: owner.id });
    expect(await statusOf(site.service.baseUrl, key)).toBe(200);
    const { page } = await site.page();
    await goToKeys(page, owner);
    await page.addInitScript(() => {
      const steps = new Set<string>();
      Object.assign(window, { steps });
      new MutationObserver(() => {
        const step = document.querySelector('li[aria-current="step"] h2')?.textContent;
        if (step) steps.add(step);
      }).observe(document, { childList: true, subtree: true });
    });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/keys\.usage/, async (route) => {
      if (route.request().url().includes(id)) await answered;
      await route.continue();
    });
    await page.goto(guideOf(owner.id));
    // The page has opened without it.
    await page.getByRole("heading", { name: "Rotate “test”" }).waitFor();
    answer();
    await standsAt(page, "Step 3 of 4");
    const steps = await page.evaluate(() => [...(window as unknown as { steps: Set<string> }).steps]);
    expect(steps).toEqual(["Watch the old key's traffic fall to zero"]);
  });

  it("says that the old key can be revoked when it has been unused for long enough", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.rotate.mutate({ id: owner.id });
    const { page } = await openGuide(owner);
    await page.getByText("Unused for less than a minute").waitFor();
    await page.getByText("unused for 1 day. Once it is revoked, requests with it return 401.").waitFor();
    await standsAt(page, "Step 2 of 4");
    // A day later.
    await page.route("**/trpc/**keys.usage**", async (route) => {
      const response = await route.fetch();
      const body = await response.text();
      await route.fulfill({ response, body: body.replaceAll('"isIdle":false', '"isIdle":true') });
    });
    await standsAt(page, "Step 4 of 4: Revoke the old key");
    await page.getByText("Unused for 1 day. You can revoke it now.").waitFor();
  });

  it("shows at once what the last half hour was like", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.rotate.mutate({ id: owner.id });
    for (let number = 0; number < 5; number++) await statusOf(site.service.baseUrl, owner.key);
    await useOtherKeys(owner);
    const { page } = await openGuide(owner);
    await page.getByRole("img", { name: /5 with “test”, 0 with “test 2”/ }).waitFor();
    const hours = page.getByRole("slider", { name: /in each hour of the last 24/ });
    await hours.focus();
    await expect.poll(() => hours.getAttribute("aria-valuetext")).toMatch(/test 5$/);
    await expect.poll(() => page.getByRole("row", { name: /GET \/v1\/models/ }).count()).toBe(5);
    await page.getByRole("link", { name: "View in request log" }).click();
    await page.getByRole("heading", { name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toBe(owner.id);
  });

  it("goes on by itself after the service has failed for a moment", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { key } = await owner.trpc.keys.rotate.mutate({ id: owner.id });
    const { page } = await openGuide(owner);
    await standsAt(page, "Step 2 of 4");
    await failProcedure(page, "keys.usage");
    await page.getByRole("alert").getByText("The database is busy.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    expect(await statusOf(site.service.baseUrl, key)).toBe(200);
    await standsAt(page, "Step 3 of 4");
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  it("does not lose the new key with a session that ends while it is shown", async () => {
    const { page } = await openGuide(await signUpWithKey(site.service.baseUrl));
    await createSuccessor(page);
    const shown = await page.getByTestId("key-string").textContent();
    const refused = page.waitForResponse(async (response) =>
      (await response.text().catch(() => "")).includes("not_signed_in"),
    );
    await page.context().clearCookies();
    await refused;
    // The answer has been read when the page has had its turn.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    expect(await page.getByTestId("key-string").textContent()).toBe(shown);
    // Once the key is stored, nothing holds the page back from leaving, so the button is pressed within the page.
    await page.evaluate(() => {
      new MutationObserver(() => {
        for (const button of document.querySelectorAll("button"))
          if (button.textContent === "Done") button.click();
      }).observe(document, { subtree: true, attributes: true });
    });
    await page.getByLabel("I have stored it").click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("has what was typed into its form after signing in again, if the session has ended", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await openGuide(owner);
    const cookies = await page.context().cookies();
    const form = page.getByRole("dialog");
    await page.getByRole("button", { name: "Create the new key" }).click();
    await form.getByLabel("Name of the new key").fill("winter");
    await form.getByLabel("Suggest revoking the old key after").selectOption("1 week");
    await page.context().clearCookies();
    await form.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Your session has ended.").waitFor();
    await page.context().addCookies(cookies);
    await page.goto(guideOf(owner.id));
    await page.getByRole("button", { name: "Create the new key" }).click();
    expect(await form.getByLabel("Name of the new key").inputValue()).toBe("winter");
    const idleAfter = form.getByLabel("Suggest revoking the old key after");
    expect(await idleAfter.evaluate((field) => (field as HTMLSelectElement).selectedOptions[0]?.text)).toBe(
      "1 week",
    );
  });

  it("gives the keyboard back to where it was", async () => {
    const { page } = await openGuide(await signUpWithKey(site.service.baseUrl));
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.getByRole("button", { name: "Create the new key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Create the new key");
  });

  it("says of a key that was revoked without a successor who still tries it", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    const { page } = await openGuide(owner);
    await page.getByRole("heading", { name: "“test” is revoked" }).waitFor();
    await page.getByText("No requests since it was revoked").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await statusOf(site.service.baseUrl, owner.key)).toBe(401);
    await page.getByRole("row", { name: /127\.0\.0\.1.*401/ }).waitFor();
  });

  it("says so when there is no such key", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await openGuide(owner);
    for (const id of [crypto.randomUUID(), "nothing"]) {
      await page.goto(guideOf(id));
      await page.getByRole("heading", { name: "Key not found" }).waitFor();
    }
    for (const id of [crypto.randomUUID(), "nothing"]) {
      await page.goto(`/settings/keys/${id}`);
      await page.getByRole("heading", { name: "Key not found" }).waitFor();
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    }
    await page.getByRole("link", { name: "Go to the API keys" }).click();
    await page.getByRole("heading", { name: "API keys", exact: true }).waitFor();
  });

  it.each(["light", "dark"] as const)("passes axe at every step, on a phone too: %s", async (colorScheme) => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page, complaints } = await openGuide(owner, { colorScheme });
    const wrong: Record<string, unknown> = {};
    const look = async (step: string) => {
      for (const width of [1_440, 375]) {
        await page.setViewportSize({ width, height: 900 });
        const found = await violationsOf(page);
        if (found.length > 0) wrong[`${step} at ${width}`] = found;
        const beyond = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        if (beyond > 0) wrong[`${step} at ${width}, beyond the edge`] = beyond;
      }
    };
    await look("create");
    await page.getByRole("button", { name: "Create the new key" }).click();
    await page.getByRole("dialog").waitFor();
    await look("the dialog that creates it");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page.getByTestId("key-string").waitFor();
    await look("the new key");
    await page.getByLabel("I have stored it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await statusOf(site.service.baseUrl, owner.key);
    await page.getByRole("row", { name: /GET \/v1\/models/ }).waitFor();
    await page.getByRole("slider").waitFor();
    await look("watch");
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await standsAt(page, "is revoked");
    await look("done");
    expect(wrong).toEqual({});
    expect(complaints).toEqual([]);
  });
});
