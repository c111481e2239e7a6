import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { openKeys, openSite, signInBy } from "../fixtures/site.ts";
import { PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { answerProcedure } from "./fail-procedure.ts";

const site = openSite(() => startOperatedService());

/** Sends a request, and returns its id. */
async function chat(key: string, model: string, content = "hello"): Promise<string> {
  const response = await sendChat(site.service.baseUrl, key, {
    model,
    messages: [{ role: "user", content }],
  });
  await response.arrayBuffer();
  return response.headers.get("x-request-id") ?? "";
}

describe.skipIf(!hasBrowser)("the operator's request log", () => {
  it("shows the requests of all accounts, and is filtered, opened and left for an account", async () => {
    const operator = await signInOperator(site.service.baseUrl);
    const owners = [
      await signUpWithKey(site.service.baseUrl),
      await signUpWithKey(site.service.baseUrl),
    ] as const;
    await chat(owners[0].key, "sandbox/echo");
    const failed = await chat(owners[0].key, "sandbox/echo", "sandbox:error 500");
    await chat(owners[1].key, "sandbox/lorem");
    const { id } = await owners[0].trpc.account.get.query();
    const { page } = await site.open(operator, "/operator/log");
    const rows = page.getByRole("grid").locator("tbody tr");
    // Another attempt of this test finds those of the one before.
    await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(3);
    await page.getByRole("columnheader", { name: "Account" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);

    await page.goto(`/operator/log?accountId=${id}`);
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("button", { name: "Errors only" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await rows.first().click();
    const details = page.getByRole("dialog");
    await details.getByText(failed).waitFor();
    // To what its error means, its account, its requests, and its place in the catalog.
    const linked = await details
      .getByRole("link")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const { keys } = await owners[0].trpc.keys.list.query();
    expect(linked).toEqual([
      "/docs/reference/errors",
      expect.stringMatching(`^/operator/accounts/${id}`),
      `/operator/log?accountId=${id}&key=${keys[0]?.keyId}`,
      "/operator/catalog?search=sandbox%2Fecho",
    ]);
    await details.getByRole("link", { name: "Test", exact: true }).click();
    await page.waitForURL(`**/operator/accounts/${id}*`);
    await details.waitFor({ state: "detached" });

    // The palette finds a request of any account.
    const palette = page.getByRole("combobox");
    await expect
      .poll(async () => {
        // The page listens for the keys some time after its address has changed.
        if (!(await palette.isVisible())) await page.keyboard.press("Control+k");
        return await palette.isVisible();
      })
      .toBe(true);
    await palette.fill(failed);
    await page.getByRole("option", { name: /Open in the request log/ }).click();
    await page.waitForURL(/\/operator\/log\?entry=/);
    await page.getByRole("dialog").getByText(failed).waitFor();
  });

  it("shows requests as they come while it is live, and is exported with its filters", async () => {
    const operator = await signInOperator(site.service.baseUrl);
    const owner = await signUpWithKey(site.service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const first = await chat(owner.key, "sandbox/echo");
    const { page, complaints } = await site.open(operator, `/operator/log?accountId=${id}`);
    const rows = page.getByRole("grid").locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole("button", { name: "Live" }).click();
    await page.waitForURL(/live=true/);
    const second = await chat(owner.key, "no/such");
    await page.getByRole("button", { name: `Details of ${second}` }).waitFor();
    // An open entry stays, and what came meanwhile is shown after it.
    await rows.first().click();
    await page.getByRole("dialog").getByText(second).waitFor();
    const third = await chat(owner.key, "sandbox/echo");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: `Details of ${third}` }).waitFor();
    await page.reload();
    expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("true");

    await page.goto(`/operator/log?accountId=${id}&status=2xx`);
    await expect.poll(() => rows.count()).toBe(2);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^requests-\d{4}-\d\d-\d\d\.csv$/);
    const [head, ...lines] = (await readFile(await file.path(), "utf8")).trimEnd().split("\r\n");
    // Excel needs the byte order mark.
    expect(head).toMatch(/^\uFEFFrequest_id,timestamp,account_id,account_name,key_id,/);
    expect(lines.map((line) => line.split(",")[0])).toEqual([third, first]);
    expect(lines[0]).toContain(`,${id},Test,${owner.key.slice(-4)},test,`);
    expect(complaints).toEqual([]);
  });

  it("keeps its rows apart on a phone, however long the names of accounts are", async () => {
    const operator = await signInOperator(site.service.baseUrl);
    const owner = visit(site.service.baseUrl);
    const email = `${crypto.randomUUID()}@example.com`;
    // Where it is cut off, its beginning must be left: it is written from the right.
    const accountName = "شركة الأبحاث والتطوير — Research of Example Corporation";
    await owner.trpc.auth.signUp.mutate({ email, password: PASSWORD, accountName });
    const { key } = await owner.trpc.keys.create.mutate({ name: "a key for the nightly evaluation" });
    for (const content of ["hello", "sandbox:error 500", "hello"]) await chat(key, "sandbox/echo", content);
    const { id } = await owner.trpc.account.get.query();
    const viewport = { width: 375, height: 900 };
    const { page } = await site.open(operator, `/operator/log?accountId=${id}`, { viewport });
    const rows = page.getByRole("grid").locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(3);
    for (const row of await rows.all()) {
      const beyond = await row.evaluate((element) => {
        const { bottom } = element.getBoundingClientRect();
        return [...element.children].filter((cell) => cell.getBoundingClientRect().bottom > bottom).length;
      });
      expect(beyond).toBe(0);
      const name = row.getByText(accountName);
      expect(await name.evaluate((cell) => getComputedStyle(cell).direction)).toBe("rtl");
    }
  });

  it.each([375, 600, 800, 1_024, 1_220, 1_440])("shows whole error codes at %i pixels", async (width) => {
    const operator = await signInOperator(site.service.baseUrl);
    const owner = visit(site.service.baseUrl);
    const email = `${crypto.randomUUID()}@example.com`;
    const accountName = "Research and development of Example Corporation";
    await owner.trpc.auth.signUp.mutate({ email, password: PASSWORD, accountName });
    const { key } = await owner.trpc.keys.create.mutate({ name: "a key for the nightly evaluation" });
    await chat(key, "no/such-model-of-any-provider-in-the-world");
    const { id } = await owner.trpc.account.get.query();
    const viewport = { width, height: 900 };
    const lists = /log\.list|audit\.list/;
    const longest = "too_many_concurrent_requests";
    for (const [visitor, path] of [
      [operator, `/operator/log?accountId=${id}`],
      [owner, "/audit"],
    ] as const) {
      const { page } = await site.page({ viewport });
      await signInBy(page, visitor);
      await page.route(lists, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replaceAll('"model_not_found"', `"${longest}"`);
        await route.fulfill({ response, body });
      });
      await page.goto(path);
      const code = page.getByRole("grid").getByText(longest);
      await code.waitFor();
      const [cell, row, frame] = await code.evaluate((element) => {
        const of = (selector: string) => element.closest(selector) as HTMLElement;
        const { bottom } = of("tr").getBoundingClientRect();
        const below = [...of("tr").children].filter((each) => each.getBoundingClientRect().bottom > bottom);
        const frameOf = of(".EntryFrame_frame");
        return [
          of("td").scrollWidth - of("td").clientWidth,
          below.length,
          frameOf.scrollWidth - frameOf.clientWidth,
        ];
      });
      expect([path, cell, row, frame]).toEqual([path, 0, 0, 0]);
    }
  });

  it("is where the charts of usage and of upstreams lead", async () => {
    const operator = await signInOperator(site.service.baseUrl);
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "sandbox/echo", "sandbox:error 500");
    const { page } = await site.open(operator, "/operator/usage?range=24h");
    const slider = (name: string | RegExp) => page.getByRole("slider", { name });
    await slider(/Errors by model/).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/operator\/log\?.*status=error/);
    await page.getByRole("grid").getByText("upstream_error").first().waitFor();

    await page.goto("/operator/upstreams");
    const panel = page.getByRole("region", { name: "sandbox over time" });
    await panel.getByRole("heading", { name: "Errors by code" }).waitFor();
    for (const heading of ["Error rate", "Latency"])
      await panel.getByRole("heading", { name: heading }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await slider(/Error rate of sandbox/).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/operator\/log\?upstream=sandbox.*status=error/);
    await page.getByRole("grid").getByText("upstream_error").first().waitFor();
  });
});

describe.skipIf(!hasBrowser)("the log of an account in the console", () => {
  it("says that it has found nothing yet where a search goes on with the next page", async () => {
    const { id } = await (await signUp(site.service.baseUrl)).trpc.account.get.query();
    const { page } = await site.open(await signInOperator(site.service.baseUrl), "/operator");
    await answerProcedure(page, "operator.accounts.entries", { entries: [], nextCursor: "later" });
    await page.goto(`/operator/accounts/${id}?tab=log&status=error`);
    await page.getByText("None found yet.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await answerProcedure(page, "operator.accounts.entries", { entries: [], nextCursor: null });
    await page.getByRole("button", { name: "Load more requests" }).click();
    await page.getByText("No errors.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a custom period of usage", () => {
  it("is chosen by its days and a time zone, and stays in the address", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "sandbox/echo");
    const { page } = await site.open(owner, "/", { timezoneId: "Asia/Kolkata" });
    const custom = page.getByRole("button", { name: "Custom" });
    const leftOf = async () => Math.round((await custom.boundingBox())?.x ?? 0);
    const before = await leftOf();
    await custom.click();
    const [first, last] = [page.getByLabel("First day"), page.getByLabel("Last day")];
    await first.waitFor();
    // What was pressed stays where it is, but for the weight of its letters.
    expect(Math.abs((await leftOf()) - before)).toBeLessThan(3);
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    await first.fill(day(-9));
    await last.fill(day(1));
    await last.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("from") === day(-9));
    const chart = page.getByRole("img", { name: /^Requests by model, .*20\d\d/ });
    await chart.waitFor();
    await page.getByRole("button", { name: /Kolkata|Calcutta/ }).click();
    await page.waitForURL(/zone=local/);
    await page.getByText(/Times in Asia.(Kolkata|Calcutta)/).waitFor();
    await page.reload();
    await page.getByText(/Times in Asia.(Kolkata|Calcutta)/).waitFor();
    expect(await first.inputValue()).toBe(day(-9));
    const total = await owner.trpc.usage.summary.query({
      from: day(-9),
      to: day(1),
      interval: "day",
      timeZone: "Asia/Kolkata",
    });
    expect(total.total.requests).toBe(1);
    await page.getByRole("table").getByRole("link", { name: "sandbox/echo" }).waitFor();

    await first.fill(day(2));
    await first.press("Enter");
    await page.getByText("Choose the first day or a later one.").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await first.fill(day(-9));
    await first.press("Enter");
    await page.getByText("Choose the first day or a later one.").waitFor({ state: "detached" });
  });

  it("of an address with other days says why it is not shown, and what is", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await chat(owner.key, "sandbox/echo");
    const { page } = await site.open(owner, "/");
    const problems = [
      ["from=2026-02-10&to=2026-02-01", "Choose the first day or a later one."],
      ["from=2020-01-01&to=2026-02-01", "Choose at most 366 days."],
      ["from=2026-02-31&to=2026-02-01", "Choose both days."],
    ];
    for (const [days, problem] of problems) {
      await page.goto(`/?range=custom&${days}`);
      await page.getByRole("alert").getByText(`${problem} Shown: the last 7 days.`).waitFor();
    }
    // The fields are side by side, also with the note below one of them.
    const fields = [page.getByLabel("First day"), page.getByLabel("Last day")];
    const boxes = await Promise.all(fields.map((field) => field.boundingBox()));
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    await page.getByLabel("First day").fill("2026-01-31");
    await page.getByLabel("First day").press("Enter");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.waitForURL(
      ({ searchParams }) =>
        searchParams.get("from") === "2026-01-31" && searchParams.get("to") === "2026-02-01",
    );
  });
});

describe.skipIf(!hasBrowser)("a whole key that is pasted into a search", () => {
  it("finds it, and is in no address and no request", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await owner.trpc.keys.create.mutate({ name: "other" });
    const page = await openKeys(site, owner);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url() + (request.postData() ?? "")));
    const keyId = owner.key.slice(-4);
    const search = page.getByRole("searchbox", { name: "Search" });
    for (const pasted of [` ${owner.key}\n`, `Authorization: Bearer ${owner.key}`, `…${keyId}`]) {
      await search.fill("");
      await page.getByRole("row", { name: /^other/ }).waitFor();
      await search.fill(pasted);
      await page.getByRole("row", { name: /^other/ }).waitFor({ state: "detached" });
      await page.getByRole("row", { name: /^test/ }).waitFor();
      await expect.poll(() => new URL(page.url()).search).toContain(keyId);
      expect(page.url()).not.toContain(owner.key);
    }
    await page.goto("/audit");
    await page.getByRole("combobox", { name: "Key", exact: true }).click();
    await page.getByRole("dialog").getByRole("combobox").fill(owner.key);
    await page.getByRole("option", { name: /^test/ }).waitFor();
    await page.getByRole("option", { name: /^other/ }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");

    const { page: operated } = await site.open(await signInOperator(site.service.baseUrl), "/operator");
    operated.on("request", (request) => asked.push(request.url() + (request.postData() ?? "")));
    await operated.getByRole("searchbox", { name: "Search" }).fill(owner.key);
    await operated.getByText("1 account matches").waitFor();
    await operated.goto("/operator/log");
    const field = operated.getByLabel("Key", { exact: true });
    await field.fill(owner.key);
    await field.press("Enter");
    await expect.poll(() => new URL(operated.url()).search).toContain(keyId);
    expect(await field.inputValue()).toBe(keyId);
    expect(asked.join("\n")).not.toContain(owner.key);
  });
});
