import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat, searchIn } from "./audit-page.ts";
import { failProcedure } from "./fail-procedure.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("the filters of the audit log", () => {
  let owner: Awaited<ReturnType<typeof signUpWithKey>>;

  beforeAll(async () => {
    if (!hasBrowser) return;
    owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 90);
  });

  it("stand in the address, and one goes back and forward through them", async () => {
    const { page, complaints } = await site.open(owner, "/audit");
    await page.getByText("90 entries in total.").waitFor({ state: "attached" });
    await page.getByLabel("Status").selectOption("4xx: refused");
    await page.getByText("10 entries in total.").waitFor();
    expect(new URL(page.url()).search).toBe("?status=4xx");
    await searchIn(page, "Model", "acme/chat-2");
    await page.getByRole("option", { name: "acme/chat-2" }).click();
    await page.getByText("2 entries in total.").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      status: "4xx",
      model: "acme/chat-2",
    });
    await page.goBack();
    await page.getByText("10 entries in total.").waitFor();
    expect(await page.getByLabel("Model").textContent()).toBe("Any");
    await page.goForward();
    await page.getByText("2 entries in total.").waitFor();
    expect(await page.getByLabel("Model").textContent()).toBe("acme/chat-2");
    await page.reload();
    await page.getByText("2 entries in total.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("90 entries in total.").waitFor({ state: "attached" });
    expect(new URL(page.url()).search).toBe("");
    expect(complaints).toEqual([]);
  });

  it("take a model of the catalog that is chosen, an address with a network, and an error code", async () => {
    const { page } = await site.open(owner, "/audit");
    await page.getByLabel("Model").click();
    await page.getByRole("option", { name: "sandbox/echo" }).click();
    await page.getByRole("heading", { name: "No entry matches" }).waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("sandbox/echo");
    await page.getByRole("button", { name: "Clear filters" }).last().click();
    await page.getByLabel("Source IP").fill("192.0.2.8/29");
    await page.keyboard.press("Tab");
    await page.getByText("8 entries in total.").waitFor();
    await searchIn(page, "Error code", "rate");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByText("1 entry in total.").waitFor();
    expect(new URL(page.url()).searchParams.get("error_code")).toBe("rate_limit_exceeded");
    // A value that is longer than its field changes no height, and can be read in its title.
    const fields = page.getByRole("region", { name: "Filters" }).getByRole("combobox");
    const heights = await fields.evaluateAll((all) =>
      all.map((field) => field.getBoundingClientRect().height),
    );
    expect(new Set(heights).size).toBe(1);
    expect(await page.getByLabel("Error code").getAttribute("title")).toBe("rate_limit_exceeded");
  });

  it("search models and error codes by a part of them, with what is there and how often", async () => {
    const { page, complaints } = await site.open(owner, "/audit");
    await page.getByLabel("Model").click();
    // Ninety entries of seven models: the first six have thirteen each.
    await page.getByRole("option", { name: "acme/chat-1 13" }).waitFor();
    await page.keyboard.type("CHAT-1");
    await page.getByRole("option", { name: "Contains “CHAT-1”" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("13 entries in total.").waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("*CHAT-1*");
    await page.getByLabel("Model contains").waitFor();
    expect(await page.getByLabel("Model contains").textContent()).toBe("CHAT-1");
    await searchIn(page, "Error code", "limit");
    await page.keyboard.press("Enter");
    await page.getByText("1 entry in total.").waitFor();
    expect(complaints).toEqual([]);
  });

  it("show errors only, in one click", async () => {
    const { page } = await site.open(owner, "/audit");
    await page.getByRole("button", { name: "Errors only" }).click();
    await page.getByText("10 entries in total.").waitFor();
    expect(new URL(page.url()).search).toBe("?status=error");
    await page.getByRole("button", { name: "Errors only" }).click();
    await page.getByText("90 entries in total.").waitFor({ state: "attached" });
  });

  it("that leave nothing say which of them do, and offer to remove each", async () => {
    const { page } = await site.open(owner, "/audit?model=*claude*&status=4xx");
    await page.getByRole("heading", { name: "No entry matches" }).waitFor();
    await page.getByText("10 without it").waitFor();
    await page.getByText("0 without it", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("the file would be empty").waitFor();
    expect(await dialog.getByRole("button", { name: "Export", exact: true }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Remove filter: model contains “claude”" }).click();
    await page.getByText("10 entries in total.").waitFor();
    expect(new URL(page.url()).search).toBe("?status=4xx");
    await page.getByRole("button", { name: "Export" }).click();
    await dialog.getByText("10 entries.").waitFor();
  });

  it("stay while an entry is found by its request ID", async () => {
    const { entries } = await owner.trpc.audit.list.query({ model: "acme/chat-3", limit: 1 });
    const requestId = entries[0]?.requestId ?? "";
    const { page } = await site.open(owner, "/audit?model=acme/chat-2");
    await page.getByLabel("Request ID").fill(`The error said: ${requestId}`);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText(requestId).first().waitFor();
    await page.getByRole("dialog").getByText("acme/chat-3", { exact: true }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByText("13 entries in total.").waitFor();
    expect(new URL(page.url()).search).toBe("?model=acme%2Fchat-2");
    await page.getByLabel("Request ID").fill("nonsense");
    await page.keyboard.press("Enter");
    await page.getByText("Enter a request ID").waitFor();
  });

  it("are summed up, shown over time and saved as a view; columns are chosen; exports are scheduled", async () => {
    const { page, complaints } = await site.open(owner, "/audit?model=acme/chat-2&status=4xx");
    const totals = page.getByRole("region", { name: "Totals" });
    await totals.getByText("2 (100%)").waitFor();
    await totals.getByRole("img", { name: "Histogram: 2 requests, 2 errors" }).waitFor();
    await page.getByRole("button", { name: "View", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Cost").uncheck();
    await dialog.getByLabel("Upstream").check();
    await dialog.getByLabel("Save current filters as").fill("refusals");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Delete refusals" }).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.reload();
    await page.getByRole("columnheader", { name: "Upstream" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Cost" }).count()).toBe(0);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await totals.getByText("90", { exact: true }).waitFor();
    await page.getByRole("button", { name: "refusals" }).click();
    await totals.getByText("2 (100%)").waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    await dialog.getByRole("button", { name: "Schedule" }).click();
    await dialog.getByText("model=acme").waitFor();
    expect(complaints).toEqual([]);
  });

  it("say that their totals are being updated until those of new filters are there, and can be asked for again", async () => {
    const { page } = await site.open(owner, "/audit?model=acme/chat-2&status=4xx");
    const totals = page.getByRole("region", { name: "Totals" });
    await totals.getByText("2 (100%)").waitFor();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const summaries = /audit\.summary/;
    await page.route(summaries, async (route) => {
      await answered;
      await route.fallback();
    });
    await page.getByRole("button", { name: "Clear filters" }).click();
    await totals.getByText("Updating…").waitFor();
    await expect.poll(() => totals.locator("dl").getAttribute("aria-busy")).toBe("true");
    answer();
    await totals.getByText("90", { exact: true }).waitFor();
    await totals.getByText("Updating…").waitFor({ state: "detached" });
    expect(await totals.locator("dl").getAttribute("aria-busy")).toBe("false");

    await page.unrouteAll({ behavior: "wait" });
    await failProcedure(page, "audit.summary");
    await page.getByRole("button", { name: "Errors only" }).click();
    await totals.getByRole("alert").waitFor();
    expect(await totals.locator("dd").allTextContents()).toEqual(["–", "–", "–", "–"]);
    await page.unrouteAll({ behavior: "wait" });
    await totals.getByRole("button", { name: "Try again" }).click();
    await totals.getByText("(100%)").waitFor();
    expect(await totals.getByRole("alert").count()).toBe(0);
  });

  it("are narrowed to a bar of the histogram by the keyboard, which hears what each bar has", async () => {
    const { page } = await site.open(owner, "/audit?model=acme/chat-2&status=4xx");
    const bars = page.getByRole("slider", { name: "Values of the histogram" });
    await bars.focus();
    await page.keyboard.press("Home");
    // Its bars are shorter than a minute, so their times have seconds.
    expect(await bars.getAttribute("aria-valuetext")).toMatch(/, \d\d:\d\d:\d\d /);
    // A hundred bars at most, of which two have a request each.
    for (let bar = 0; bar < 100; bar++) {
      if (/: Requests 1, Errors 1$/.test((await bars.getAttribute("aria-valuetext")) ?? "")) break;
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("Enter");
    await page.getByText("1 entry in total.").waitFor();
    expect(new URL(page.url()).searchParams.has("from")).toBe(true);
  });

  it("find a key by its key ID, and revoked ones too", async () => {
    const other = await owner.trpc.keys.create.mutate({ name: "laptop" });
    await chat(site.service.baseUrl, other.key);
    await owner.trpc.keys.revoke.mutate({ id: other.id });
    const { page } = await site.open(owner, `/audit?key=${JSON.stringify(other.keyId)}`);
    await page.getByText("1 entry in total.").waitFor();
    const field = page.getByLabel("Key", { exact: true });
    await expect.poll(() => field.textContent()).toBe(`laptop (…${other.keyId}), revoked`);
    await searchIn(page, "Key", "tes");
    await page.getByRole("option", { name: "test" }).click();
    await page.getByText("90 entries in total.").waitFor({ state: "attached" });
    expect(await field.textContent()).toMatch(/^test \(…/);
    await searchIn(page, "Key", "lap");
    await page.getByRole("option", { name: "laptop" }).click();
    await page.getByText("1 entry in total.").waitFor();
    await field.click();
    await page.getByRole("listbox").getByRole("option", { name: "Any" }).click();
    await page.getByText("91 entries in total.").waitFor({ state: "attached" });
  });

  it("take a time in the browser's zone, and keep it in the address as one that holds everywhere", async () => {
    const entries = (await owner.trpc.audit.list.query({ model: "acme/chat-1" })).entries;
    const middle = entries[6]?.timestamp ?? new Date();
    const second = new Date(Math.floor(middle.getTime() / 1_000) * 1_000);
    const { page } = await site.open(owner, "/audit?model=acme/chat-1", { timezoneId: "Asia/Kolkata" });
    await page.getByLabel("Time").selectOption("Custom…");
    // Half past five hours ahead of UTC, all the year.
    const local = new Date(second.getTime() + 5.5 * 60 * 60 * 1_000).toISOString().slice(0, 19);
    await page.getByLabel("From").fill(local);
    await page.keyboard.press("Enter");
    await page.getByText("7 entries in total.").waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe(second.toISOString().replace(".000Z", "Z"));
    await page.getByLabel("Time").selectOption("Last 24 hours");
    await page.getByText("13 entries in total.").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      model: "acme/chat-1",
      range: "24h",
    });
  });

  it("name the zone of a time, also in the hour that clocks show twice", async () => {
    const address = "/audit?from=2026-10-25T00:30:00Z&to=2026-10-25T01:30:00Z";
    const { page } = await site.open(owner, address, { timezoneId: "Europe/Berlin" });
    for (const label of ["From (CEST)", "Before (CET)"])
      expect(await page.getByLabel(label, { exact: true }).inputValue()).toBe("2026-10-25T02:30");
  });

  it("that can't be used are told at their fields, in the service's words", async () => {
    const { page } = await site.open(owner, "/audit?source=nonsense&status=4xx");
    const source = page.getByLabel("Source IP");
    const words = page.getByText("Must be an IP address or a CIDR block");
    await words.waitFor();
    expect(await source.inputValue()).toBe("nonsense");
    const describedBy = async () => `#${await source.getAttribute("aria-describedby")}`;
    await expect.poll(async () => words.and(page.locator(await describedBy())).count()).toBe(1);
    await page.getByRole("heading", { name: "Invalid filter" }).waitFor();
    await source.fill("192.0.2.0/24");
    await page.keyboard.press("Enter");
    await page.getByText("10 entries in total.").waitFor();
    await words.waitFor({ state: "hidden" });
    for (const [search, text] of [
      ["from=yesterday", "Must be a date such as"],
      ["from=2026-02-10&to=2026-02-01", "Choose the time in “From” or a later one."],
      ["status=999", "Must be a status such as 404"],
      ["key=nobody", "Must be a key's id"],
    ] as const) {
      await page.goto(`/audit?${search}`);
      await page.getByText(text).waitFor();
    }
  });
});
