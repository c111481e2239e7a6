import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { countsOf, openOverviewSite } from "./overview-site.ts";

const overview = openOverviewSite();

describe.skipIf(!hasBrowser)("the page of", () => {
  it("a key shows its own usage by model, how fast it was answered, and leads to its requests", async () => {
    const { keys } = await overview.used.trpc.keys.list.query();
    const id = keys.find(({ name }) => name === "second")?.id ?? "";
    await using sql = await openDatabaseOf(overview.site.service);
    await sql`
      insert into key_addresses (key, source_ip, last_seen_at)
      select ${id}, ('192.0.2.' || n)::inet, now() - n * interval '1 hour' from generate_series(1, 20) n
      on conflict do nothing`;
    const { page, complaints } = await overview.site.open(overview.used, `/settings/keys/${id}?by=model`);
    await page.getByRole("heading", { level: 1, name: "second" }).waitFor();
    const usage = page.getByRole("table", { name: /^Usage by model/ });
    await usage.getByRole("row", { name: /sandbox\/lorem 2 0/ }).waitFor();
    expect(await usage.getByText("sandbox/echo").count()).toBe(0);
    await page.getByRole("region", { name: "Latency over time" }).waitFor();
    await page.getByRole("row", { name: /^sandbox 2 100%/ }).waitFor();
    const addresses = page.getByRole("table", { name: "Addresses of the last 30 days" });
    await addresses.getByRole("row", { name: /^127\.0\.0\.1 / }).waitFor();
    expect(await addresses.getByRole("row").count()).toBe(13);
    await page.getByRole("button", { name: "Show all 21" }).click();
    await addresses.getByRole("row", { name: /^192\.0\.2\.20 / }).waitFor();
    await page.getByRole("heading", { name: "Use this key" }).waitFor();
    await page.getByText("export OSTIARY_API_KEY=sk-…").waitFor();
    await page.getByText("No errors in the last 30 days.").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("link", { name: "View requests" }).click();
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toBe(id);
    expect(complaints).toEqual([]);
  });

  it("a key lists its errors by code, each of which leads to its requests", async () => {
    const { keys } = await overview.used.trpc.keys.list.query();
    const id = keys.find(({ name }) => name === "test")?.id ?? "";
    const { page } = await overview.site.open(overview.used, `/settings/keys/${id}`);
    // The figures above are of the chosen period, which is another one.
    await page.getByRole("heading", { name: "Errors in the last 30 days" }).waitFor();
    const errors = page.getByRole("table", { name: /^Errors of the last 30 days/ });
    await errors.getByRole("row", { name: "model_not_found 1" }).waitFor();
    await errors.getByRole("link", { name: "model_not_found" }).click();
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    const search = new URL(page.url()).searchParams;
    expect([search.get("key"), search.get("error_code")]).toEqual([id, "model_not_found"]);
    await page.getByRole("row", { name: /model_not_found/ }).waitFor();
  });

  it("a key can revoke it, and a revoked key offers neither that nor a rotation", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page, complaints } = await overview.site.open(owner, `/settings/keys/${owner.id}`);
    const facts = page.getByRole("region", { name: "Key", exact: true });
    await facts.getByText(/^Created/).waitFor();
    await page.getByRole("link", { name: "Rotate", exact: true }).waitFor();
    const revoke = page.getByRole("button", { name: "Revoke", exact: true });
    await revoke.click();
    await page.getByLabel("Type “test” to confirm").fill("test");
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("Key “test” revoked").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await revoke.waitFor({ state: "detached" });
    expect(await page.getByRole("link", { name: "Rotate", exact: true }).count()).toBe(0);
    await facts.getByText("Revoked", { exact: true }).waitFor();
    // The pressed button is gone: the keyboard goes on at the page, or at its part that had the button.
    const isOnPage = () => page.evaluate(() => document.activeElement?.closest("#main") != null);
    await expect.poll(isOnPage).toBe(true);
    expect(await overview.chat(owner.key, "sandbox/echo")).toBe(401);
    expect(complaints).toEqual([]);
  });

  it("a key is not shown as revoked where a node of the version before answers, during an upgrade", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.site.open(owner, "/settings/keys");
    await page.route("**/trpc/**keys.usage**", async (route) => {
      const response = await route.fetch();
      const isNew = (name: string) => name === "createdAt" || name === "revokedAt";
      const json = JSON.parse(await response.text(), (name, value) => (isNew(name) ? undefined : value));
      await route.fulfill({ response, json });
    });
    await page.goto(`/settings/keys/${owner.id}`);
    const facts = page.getByRole("region", { name: "Key", exact: true });
    await facts.getByText("active").waitFor();
    expect(await facts.getByText(/^(?:Created|Revoked)/).count()).toBe(0);
  });

  it("a key has its name in the direction of its own letters", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "مفتاح (prod)" });
    const { page } = await overview.site.open(owner, "/settings/keys");
    const directionOf = (name: string) =>
      page
        .getByText(name, { exact: true })
        .first()
        .evaluate((one) => getComputedStyle(one).direction);
    expect(await directionOf("مفتاح (prod)")).toBe("rtl");
    expect(await directionOf("test")).toBe("ltr");
    await page.goto(`/settings/keys/${id}`);
    await page.getByRole("heading", { level: 1, name: "مفتاح (prod)" }).waitFor();
    expect(await directionOf("مفتاح (prod)")).toBe("rtl");
  });

  it("a key shows code that calls a model outside the sandbox, where there is one", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.site.open(owner, "/settings/keys");
    await page.route("**/trpc/**models.list**", async (route) => {
      const response = await route.fetch();
      const json = JSON.parse(await response.text(), (_, value) =>
        value?.id === "sandbox/lorem" ? { ...value, sandbox: false } : value,
      );
      await route.fulfill({ response, json });
    });
    await page.goto(`/settings/keys/${owner.id}`);
    await page.getByRole("region", { name: "Code", exact: true }).getByText("sandbox/lorem").waitFor();
  });

  it("a model shows its prices, code to call it, and its usage by key", async () => {
    const { page, complaints } = await overview.site.open(overview.used, "/models");
    await page.getByRole("link", { name: "sandbox/echo", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "sandbox/echo" }).waitFor();
    await page.getByRole("heading", { name: "Call this model" }).waitFor();
    // The name in the table leads nowhere on the model's own page.
    expect(
      await page.getByRole("main").getByRole("link", { name: "sandbox/echo", exact: true }).count(),
    ).toBe(0);
    await page.getByRole("button", { name: "By key" }).click();
    await expect
      .poll(async () => (await countsOf(page)).some(([name]) => /^test …/.test(name ?? "")))
      .toBe(true);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "sandbox/echo" }).waitFor();
    expect(complaints).toEqual([]);
  });
});
