import { readFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Download, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, openBrowser, openPage, type WatchedPage } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Owner, signUp, signUpWithKey } from "../fixtures/user.ts";

let service: Service;
let browser: Browser;

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startService(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
});

/** Signs the browser in with a session of before. */
async function signInBy(page: Page, owner: Owner, url: string): Promise<void> {
  const cookies = owner
    .cookie()
    .split("; ")
    .map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return { name, value, url };
    });
  await page.context().addCookies(cookies);
}

/** A page of someone who is signed in. */
async function watch(
  owner: Owner,
  path: string,
  options: BrowserContextOptions = {},
  baseUrl = service.baseUrl,
): Promise<WatchedPage> {
  const watched = await openPage(browser, baseUrl, options);
  const { page } = watched;
  await signInBy(page, owner, baseUrl);
  // Nobody is there to choose a file: what is exported is downloaded, as in browsers that have no such choice.
  await page.addInitScript(() => Reflect.deleteProperty(window, "showSaveFilePicker"));
  await page.goto(path);
  return watched;
}

/** The request's id. */
async function chat(key: string, model = "sandbox/echo", baseUrl = service.baseUrl): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
  });
  await response.arrayBuffer();
  return response.headers.get("x-request-id") ?? "";
}

/** What the API exports. */
async function exported(key: string, query: string): Promise<string> {
  const response = await fetch(`${service.baseUrl}/v1/audit/export?${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  return response.text();
}

/** The rows of entries, without the head. */
function rowsOf(page: Page): Locator {
  return page.getByRole("grid").locator("tbody").getByRole("row");
}

function rowOf(page: Page, requestId: string): Locator {
  return rowsOf(page).filter({ has: page.getByRole("button", { name: `Details of ${requestId}` }) });
}

/** Goes to the last row, and on to what is loaded then, until there is no more. */
async function goToEnd(page: Page): Promise<void> {
  await rowsOf(page).first().focus();
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return page.getByText(/ in all\.$/).isVisible();
    })
    .toBe(true);
}

/** The index of the row that has the focus, if it can be seen. */
function focusedRow(page: Page): Promise<number | null> {
  return page.evaluate(() => {
    const row = document.activeElement as HTMLElement;
    const frame = row.closest(".entries-frame")?.getBoundingClientRect();
    const { top, bottom } = row.getBoundingClientRect();
    if (frame === undefined || top < frame.top - 1 || bottom > frame.bottom + 1) return null;
    return Number(row.dataset.index);
  });
}

describe.skipIf(!hasBrowser)("the audit log", () => {
  it("loads more by itself as one scrolls, to the last entry, and only has the rows that are in view", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 2_000);
    const { page, complaints } = await watch(owner, "/audit");
    await rowsOf(page).first().waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("-1");
    await goToEnd(page);
    await page.getByText("2,000 entries in all.").waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("2001");
    expect(await rowsOf(page).count()).toBeLessThan(80);
    const [oldest = ""] = (await exported(owner.key, "format=ndjson")).split("\n");
    const last = rowOf(page, JSON.parse(oldest).request_id);
    expect(await last.getAttribute("aria-rowindex")).toBe("2001");
    // The first one is there again, in its place.
    await page.keyboard.press("Home");
    await expect.poll(() => focusedRow(page)).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("is gone through with the keyboard, and the row that one is at is in view", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 120);
    const { page } = await watch(owner, "/audit");
    await rowsOf(page).first().waitFor();
    await page.getByLabel("Source IP").focus();
    await page.keyboard.press("Tab");
    await expect.poll(() => focusedRow(page)).toBe(0);
    for (let press = 0; press < 20; press++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => focusedRow(page)).toBe(20);
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => focusedRow(page)).toBe(19);
    await page.keyboard.press("PageDown");
    const down = (await focusedRow(page)) ?? 0;
    expect(down).toBeGreaterThan(22);
    await page.keyboard.press("PageUp");
    await expect.poll(() => focusedRow(page)).toBe(19);

    // Scrolled away from it, the focus is not lost.
    await page.locator(".entries-frame").evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }));
    await page.getByText("120 entries in all.").waitFor();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => focusedRow(page)).toBe(20);
  });

  it("tells at the end of the list that more could not be loaded, and keeps those that are there", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 700);
    const { page } = await watch(owner, "/audit");
    await rowsOf(page).first().waitFor();
    const message = "The service can't do this just now. Try again shortly.";
    const error = { message, type: "server_error", param: null, code: "server_is_overloaded" };
    const lists = (url: URL) => url.pathname.includes("audit.list");
    await page.route(lists, (route) => route.fulfill({ status: 503, json: { error } }));
    await rowsOf(page).first().focus();
    const alert = page.getByRole("alert");
    await expect
      .poll(async () => {
        await page.keyboard.press("End");
        return alert.isVisible();
      })
      .toBe(true);
    await page.locator(".entries-frame").evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }));
    await alert.getByText(message).waitFor();
    const inView = await alert.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= window.innerHeight;
    });
    expect(inView).toBe(true);
    expect(await rowsOf(page).count()).toBeGreaterThan(5);
    await page.unroute(lists);
    await page.getByRole("button", { name: "Try again" }).click();
    await goToEnd(page);
    await page.getByText("700 entries in all.").waitFor();
  });

  it("shows every column on a wide screen, however long a key's name is", async () => {
    const owner = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "n".repeat(64) });
    await chat(key);
    const { page } = await watch(owner, "/audit", { viewport: { width: 1280, height: 800 } });
    const row = page.getByRole("row", { name: /sandbox\/echo/ });
    await row.getByText("POST /v1/chat/completions").waitFor();
    const beyond = await row.evaluate((element) => {
      const frame = element.closest(".entries-frame") as HTMLElement;
      const cells = [...element.children].filter(
        (cell) => cell.getBoundingClientRect().right > frame.getBoundingClientRect().right,
      );
      return [frame.scrollWidth - frame.clientWidth, cells.length];
    });
    expect(beyond).toEqual([0, 0]);
  });

  it("has cards of two lines on a phone, and no sideways scrolling", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 300);
    await chat(owner.key, "no/such-model");
    const { page } = await watch(owner, "/audit", { viewport: { width: 375, height: 800 }, hasTouch: true });
    const card = rowsOf(page).first();
    await card.getByText("model_not_found").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    expect(await rowsOf(page).count()).toBeLessThan(40);
    await card.tap();
    await page.getByRole("dialog").getByText("The service refused it.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).tap();
    expect(await page.getByLabel("Status").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Filters" }).tap();
    await page.getByLabel("Status").selectOption("4xx: refused");
    await page.getByRole("button", { name: "Filters (1)" }).waitFor();
    await page.getByRole("row", { name: /429/ }).first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  });

  it("says so when there is nothing yet", async () => {
    const { page } = await watch(await signUp(service.baseUrl), "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("the filters of the audit log", () => {
  let owner: Awaited<ReturnType<typeof signUpWithKey>>;

  beforeAll(async () => {
    if (!hasBrowser) return;
    owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 90);
  });

  it("stand in the address, and one goes back and forward through them", async () => {
    const { page, complaints } = await watch(owner, "/audit");
    await page.getByText("90 entries in all.").waitFor({ state: "attached" });
    await page.getByLabel("Status").selectOption("4xx: refused");
    await page.getByText("10 entries in all.").waitFor();
    expect(new URL(page.url()).search).toBe("?status=4xx");
    await page.getByLabel("Model").fill("acme/chat-2");
    await page.keyboard.press("Enter");
    await page.getByText("2 entries in all.").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      status: "4xx",
      model: "acme/chat-2",
    });
    await page.goBack();
    await page.getByText("10 entries in all.").waitFor();
    expect(await page.getByLabel("Model").inputValue()).toBe("");
    await page.goForward();
    await page.getByText("2 entries in all.").waitFor();
    expect(await page.getByLabel("Model").inputValue()).toBe("acme/chat-2");
    await page.reload();
    await page.getByText("2 entries in all.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("90 entries in all.").waitFor({ state: "attached" });
    expect(new URL(page.url()).search).toBe("");
    expect(complaints).toEqual([]);
  });

  it("take a model of the catalog that is chosen, an address with a network, and an error code", async () => {
    const { page } = await watch(owner, "/audit");
    await page.getByLabel("Model").click();
    await page.getByRole("option", { name: "sandbox/echo" }).click();
    await page.getByRole("heading", { name: "No entry matches" }).waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("sandbox/echo");
    await page.getByRole("button", { name: "Clear filters" }).last().click();
    await page.getByLabel("Source IP").fill("192.0.2.8/29");
    await page.keyboard.press("Tab");
    await page.getByText("8 entries in all.").waitFor();
    await page.getByLabel("Error code").fill("rate");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByText("1 entry in all.").waitFor();
    expect(new URL(page.url()).searchParams.get("error_code")).toBe("rate_limit_exceeded");
  });

  it("find a key by its key ID, and revoked ones too", async () => {
    const other = await owner.trpc.keys.create.mutate({ name: "laptop" });
    await chat(other.key);
    await owner.trpc.keys.revoke.mutate({ id: other.id });
    const { page } = await watch(owner, `/audit?key=${JSON.stringify(other.keyId)}`);
    await page.getByText("1 entry in all.").waitFor();
    const chosen = page.getByLabel("Key").locator("option:checked");
    expect(await chosen.textContent()).toBe(`laptop (…${other.keyId}), revoked`);
    await page.getByLabel("Key").selectOption({ index: 1 });
    await page.getByText("1 entry in all.").waitFor({ state: "detached" });
  });

  it("take a time in the browser's zone, and keep it in the address as one that holds everywhere", async () => {
    const entries = (await owner.trpc.audit.list.query({ model: "acme/chat-1" })).entries;
    const middle = entries[6]?.timestamp ?? new Date();
    const second = new Date(Math.floor(middle.getTime() / 1_000) * 1_000);
    const { page } = await watch(owner, "/audit?model=acme/chat-1", { timezoneId: "Asia/Kolkata" });
    await page.getByLabel("Time").selectOption("Custom…");
    // Half past five hours ahead of UTC, all the year.
    const local = new Date(second.getTime() + 5.5 * 60 * 60 * 1_000).toISOString().slice(0, 19);
    await page.getByLabel("From").fill(local);
    await page.keyboard.press("Enter");
    await page.getByText("7 entries in all.").waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe(second.toISOString().replace(".000Z", "Z"));
    await page.getByLabel("Time").selectOption("Last 24 hours");
    await page.getByText("13 entries in all.").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      model: "acme/chat-1",
      range: "24h",
    });
  });

  it("that can't be used are told at their fields, in the service's words", async () => {
    const { page } = await watch(owner, "/audit?source=nonsense&status=4xx");
    const source = page.getByLabel("Source IP");
    const words = page.getByText("Must be an IP address or a CIDR block");
    await words.waitFor();
    expect(await source.inputValue()).toBe("nonsense");
    expect(await source.getAttribute("aria-describedby")).toBe(await words.getAttribute("id"));
    await page.getByRole("heading", { name: "A filter can't be used" }).waitFor();
    await source.fill("192.0.2.0/24");
    await page.keyboard.press("Enter");
    await page.getByText("10 entries in all.").waitFor();
    expect(await words.isVisible()).toBe(false);
    for (const [search, text] of [
      ["from=yesterday", "Must be a time as in RFC 3339"],
      ["status=999", "Must be a status such as 404"],
      ["key=nobody", "Must be a key's id"],
    ] as const) {
      await page.goto(`/audit?${search}`);
      await page.getByText(text).waitFor();
    }
  });
});

describe.skipIf(!hasBrowser)("the live audit log", () => {
  it("shows what is recorded on top, by itself, and only what matches", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const before = await chat(owner.key);
    const { page, complaints } = await watch(owner, "/audit?model=sandbox/echo");
    await rowOf(page, before).waitFor();
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText("Following").waitFor();
    expect(new URL(page.url()).searchParams.get("live")).toBe("true");
    const other = await chat(owner.key, "sandbox/lorem");
    const first = await chat(owner.key);
    await rowOf(page, first).waitFor();
    const second = await chat(owner.key);
    await rowOf(page, second).waitFor();
    const shown = await rowsOf(page)
      .getByRole("button")
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute("aria-label")));
    expect(shown).toEqual([second, first, before].map((id) => `Details of ${id}`));
    expect(await rowOf(page, other).count()).toBe(0);
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText("Following").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("does not move what one reads: what is new waits, is counted, and is shown on request", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 90);
    const { page } = await watch(owner, "/audit?live=true");
    await page.getByText("Following").waitFor();
    const frame = page.locator(".entries-frame");
    await frame.evaluate((element) => element.scrollTo({ top: 1_000 }));
    const read = rowsOf(page).filter({ hasText: "192.0.2.66" });
    const { y } = (await read.boundingBox()) ?? { y: Number.NaN };
    const asked = [await chat(owner.key), await chat(owner.key), await chat(owner.key)];
    await page.getByRole("button", { name: "3 new" }).waitFor();
    expect((await read.boundingBox())?.y).toBe(y);
    await page.getByRole("button", { name: "3 new" }).click();
    for (const id of asked) await rowOf(page, id).waitFor();
    expect(await frame.evaluate((element) => element.scrollTop)).toBe(0);
    expect(await page.getByRole("button", { name: "3 new" }).count()).toBe(0);
    await goToEnd(page);
    await page.getByText("93 entries in all.").waitFor();
  });

  it("says that the connection was lost, comes back by itself, and misses nothing", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await using proxy = await openTcpProxy(Number(new URL(service.baseUrl).port));
    const { page } = await watch(owner, "/audit?live=true", {}, `http://127.0.0.1:${proxy.port}`);
    await page.getByText("Following").waitFor();
    const first = await chat(owner.key);
    await rowOf(page, first).waitFor();
    proxy.cut();
    await page.getByText("Reconnecting…").waitFor();
    const missed = [await chat(owner.key), await chat(owner.key)];
    proxy.heal();
    await page.getByText("Following").waitFor({ timeout: 20_000 });
    for (const id of missed) await rowOf(page, id).waitFor();
    const after = await chat(owner.key);
    await rowOf(page, after).waitFor();
    await page.getByText("4 entries in all.").waitFor();
  });

  it("begins to follow when the service can do it again", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { page } = await openPage(browser, service.baseUrl);
    const tails = (url: URL) => url.pathname.includes("audit.tail");
    await page.route(tails, (route) => route.fulfill({ status: 503, json: {} }));
    await signInBy(page, owner, service.baseUrl);
    await page.goto("/audit?live=true");
    await page.getByText("Connecting…").waitFor();
    await page.unroute(tails);
    await page.getByText("Following").waitFor({ timeout: 20_000 });
    await rowOf(page, await chat(owner.key)).waitFor();
  });

  it("leads to signing in, and back, when the session has ended", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { page } = await watch(owner, "/audit?live=true");
    await page.getByText("Following").waitFor();
    await owner.trpc.auth.signOut.mutate();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(new URL(page.url()).searchParams.get("to")).toBe("/audit?live=true");
  });

  it("leads to signing in when the session had ended before", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { page } = await watch(owner, "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    await owner.trpc.auth.signOut.mutate();
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("tells when more came at once than it can show, and has all of it", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { page } = await watch(owner, "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    const nextList = () => page.waitForResponse((response) => response.url().includes("audit.list"));
    // What was recorded before following had begun.
    const begun = nextList();
    await page.getByRole("button", { name: "Live" }).click();
    await begun;
    const first = await chat(owner.key);
    await rowOf(page, first).waitFor();
    const readAgain = nextList();
    await insertEntries(service, owner, 1_000);
    await page.getByText("800 more entries came too fast to be shown one by one.").waitFor();
    await readAgain;
    await goToEnd(page);
    await page.getByText("1,001 entries in all.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("an audit entry", () => {
  it("is opened in a sheet, by its link too, and one steps to its neighbours", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const ids = [await chat(owner.key), await chat(owner.key, "no/such-model"), await chat(owner.key)];
    const { page, complaints } = await watch(owner, "/audit");
    await rowsOf(page).first().focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText(ids[2] ?? "").waitFor();
    expect(new URL(page.url()).searchParams.get("entry")).toBe(ids[2]);
    await page.keyboard.press("ArrowRight");
    await dialog.getByText(ids[1] ?? "").waitFor();
    await dialog.getByText("model_not_found").waitFor();
    await dialog.getByText("The service refused it.").waitFor();
    await dialog.getByRole("button", { name: "Older entry" }).click();
    await dialog.getByText(ids[0] ?? "").waitFor();
    await page.keyboard.press("ArrowLeft");
    await dialog.getByText(ids[1] ?? "").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
    await expect.poll(() => focusedRow(page)).toBe(1);

    await rowOf(page, ids[0] ?? "").click();
    await dialog.getByText(ids[0] ?? "").waitFor();
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("is there under its link, though the list does not hold it, and is copied as the API has it", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const requestId = await chat(owner.key);
    const { page } = await watch(owner, `/audit?model=another&entry=${requestId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText(requestId).waitFor();
    expect(await dialog.getByRole("button", { name: "Older entry" }).getAttribute("aria-disabled")).toBe(
      "true",
    );
    await dialog.getByRole("button", { name: "Copy as JSON" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    const response = await fetch(`${service.baseUrl}/v1/audit`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    const { data } = (await response.json()) as { data: { request_id: string }[] };
    expect(copied).toEqual(data.find(({ request_id }) => request_id === requestId));

    await page.goto("/audit?entry=req_019a0000000070008000000000000000");
    await dialog.getByText("The account has no entry of this request").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });
});

async function textOf(download: Download): Promise<string> {
  return readFile(await download.path(), "utf8");
}

/** Opens the dialog and starts. */
async function startExport(page: Page, format: "CSV" | "NDJSON"): Promise<void> {
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("button", { name: format }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
}

interface CuttingProxy extends AsyncDisposable {
  readonly baseUrl: string;
  /** The queries of all exports so far. */
  readonly exports: readonly URLSearchParams[];
  /** From now on the next exports are cut after so many bytes, `null`: none. */
  cutAfter(bytes: number | null): void;
}

/** A way to the service on which exports break off. Nothing is compressed on it. */
async function openCuttingProxy(): Promise<CuttingProxy> {
  const exports: URLSearchParams[] = [];
  let cutAfterBytes: number | null = null;
  const server = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url ?? "/", service.baseUrl);
    const isExport = url.pathname === "/dashboard/audit/export";
    if (isExport) exports.push(url.searchParams);
    const { "accept-encoding": _, ...headers } = incoming.headers;
    const onward = httpRequest(url, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        outgoing.write(chunk);
        if (!isExport || cutAfterBytes === null || bytes < cutAfterBytes) return;
        answer.destroy();
        outgoing.destroy();
      });
      answer.on("end", () => outgoing.end());
      answer.on("error", () => outgoing.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    cutAfter: (bytes) => {
      cutAfterBytes = bytes;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe.skipIf(!hasBrowser)("an export of the audit log", () => {
  let owner: Awaited<ReturnType<typeof signUpWithKey>>;

  beforeAll(async () => {
    if (!hasBrowser) return;
    owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 12_000);
  });

  it.each(["CSV", "NDJSON"] as const)("saves what is filtered, as the API exports it: %s", async (format) => {
    const { page, complaints } = await watch(owner, "/audit?status=4xx&model=acme/chat-3");
    await rowsOf(page).first().waitFor();
    const downloading = page.waitForEvent("download");
    await startExport(page, format);
    const download = await downloading;
    await page.getByRole("dialog").getByText("190 entries are in audit-").waitFor();
    expect(download.suggestedFilename()).toMatch(new RegExp(`^audit-[-\\d]+\\.${format.toLowerCase()}$`));
    const query = `format=${format.toLowerCase()}&status=4xx&model=acme/chat-3`;
    const saved = await textOf(download);
    expect(saved).toBe(await exported(owner.key, query));
    expect(saved.trimEnd().split("\n")).toHaveLength(format === "CSV" ? 191 : 190);
    expect(complaints).toEqual([]);
  });

  it("says what will be in the file", async () => {
    const { page } = await watch(owner, "/audit?status=4xx&source=192.0.2.0/24&from=2026-01-31T12:00:00Z", {
      timezoneId: "UTC",
    });
    await page.getByRole("button", { name: "Export" }).click();
    const words = page.getByRole("dialog").getByRole("listitem");
    await words.first().waitFor();
    expect(await words.allTextContents()).toEqual([
      "from 31 Jan 2026, 12:00",
      "status 4xx",
      "source 192.0.2.0/24",
    ]);
  });

  it("goes on where it was cut, without gap or repeat", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await watch(owner, "/audit", {}, proxy.baseUrl);
    await rowsOf(page).first().waitFor();
    proxy.cutAfter(1_500_000);
    const downloading = page.waitForEvent("download", { timeout: 60_000 });
    await startExport(page, "CSV");
    await expect.poll(() => proxy.exports.length).toBeGreaterThan(1);
    proxy.cutAfter(null);
    const saved = await textOf(await downloading);
    expect(proxy.exports[0]?.has("cursor")).toBe(false);
    expect(proxy.exports[1]?.has("cursor")).toBe(true);
    expect(saved).toBe(await exported(owner.key, "format=csv"));
  }, 90_000);

  it("is not saved when it is given up", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await watch(owner, "/audit", {}, proxy.baseUrl);
    await rowsOf(page).first().waitFor();
    const saved: Download[] = [];
    page.on("download", (download) => saved.push(download));
    proxy.cutAfter(1);
    await startExport(page, "NDJSON");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("it goes on in a moment").waitFor();
    await dialog.getByRole("button", { name: "Cancel export" }).click();
    await dialog.waitFor({ state: "detached" });
    proxy.cutAfter(null);
    await page.goto("/audit");
    await rowsOf(page).first().waitFor();
    expect(saved).toEqual([]);
  });

  it("that breaks off again and again is not saved, and goes on when asked", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await watch(owner, "/audit?model=acme/chat-5", {}, proxy.baseUrl);
    await rowsOf(page).first().waitFor();
    await page.clock.install();
    const saved: Download[] = [];
    page.on("download", (download) => saved.push(download));
    proxy.cutAfter(1);
    await startExport(page, "CSV");
    const dialog = page.getByRole("dialog");
    await expect
      .poll(async () => {
        await page.clock.fastForward(10_000);
        return dialog.getByRole("alert").isVisible();
      })
      .toBe(true);
    await dialog.getByRole("alert").getByText("it goes on where it was cut").waitFor();
    expect(saved).toEqual([]);
    proxy.cutAfter(null);
    await dialog.getByRole("button", { name: "Go on" }).click();
    await expect.poll(() => saved.length).toBe(1);
    const [download] = saved;
    expect(download === undefined ? "" : await textOf(download)).toBe(
      await exported(owner.key, "format=csv&model=acme/chat-5"),
    );
  });

  it("is written to disk as it comes, where the browser can", async () => {
    const { page } = await watch(owner, "/audit?status=4xx");
    await page.evaluate(() => {
      const showSaveFilePicker = async ({ suggestedName }: { suggestedName: string }) => {
        const folder = await navigator.storage.getDirectory();
        return folder.getFileHandle(suggestedName, { create: true });
      };
      Object.assign(window, { showSaveFilePicker });
    });
    await startExport(page, "NDJSON");
    await page.getByRole("dialog").getByText("1,333 entries are in audit-").waitFor();
    const written = await page.evaluate(async () => {
      const folder = await navigator.storage.getDirectory();
      const texts: string[] = [];
      for await (const handle of folder.values()) {
        if (handle.kind === "file")
          texts.push(await (await (handle as FileSystemFileHandle).getFile()).text());
      }
      return texts;
    });
    expect(written).toEqual([await exported(owner.key, "format=ndjson&status=4xx")]);
  });

  it("that the service refuses says why", async () => {
    const { page } = await watch(owner, "/audit?source=nonsense");
    await page.getByText("Must be an IP address").waitFor();
    await startExport(page, "CSV");
    await page.getByRole("dialog").getByRole("alert").getByText("must be an IP address").waitFor();
  });
});

describe.skipIf(!hasBrowser).each(["light", "dark"] as const)("with %s colours", (colorScheme) => {
  it("axe finds nothing wrong with the list, the filters, an entry and the export", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await insertEntries(service, owner, 200);
    const { page, complaints } = await watch(owner, "/audit?status=4xx&live=true", { colorScheme });
    await page.getByText("Following").waitFor();
    await rowsOf(page).first().focus();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("The service refused it.").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await startExport(page, "CSV");
    await page.getByRole("dialog").getByText("entries are in").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);

    await page.setViewportSize({ width: 375, height: 800 });
    await page.goto("/audit?source=nonsense");
    await page.getByRole("button", { name: "Filters (1)" }).click();
    await page.getByText("Must be an IP address").waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});
