import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat, goToEnd, rowOf, rowsOf } from "./audit-page.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("the live audit log", () => {
  it("shows what is recorded on top, by itself, and only what matches", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const before = await chat(site.service.baseUrl, owner.key);
    const { page, complaints } = await site.open(owner, "/audit?model=sandbox/echo");
    await rowOf(page, before).waitFor();
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText("Connected").waitFor();
    expect(new URL(page.url()).searchParams.get("live")).toBe("true");
    const other = await chat(site.service.baseUrl, owner.key, "sandbox/lorem");
    const first = await chat(site.service.baseUrl, owner.key);
    await rowOf(page, first).waitFor();
    const second = await chat(site.service.baseUrl, owner.key);
    await rowOf(page, second).waitFor();
    // In one step: when the list is read again, its rows show other entries.
    const shown = await page
      .getByRole("grid")
      .evaluate((grid) =>
        [...grid.querySelectorAll("tbody button")].map((button) => button.getAttribute("aria-label")),
      );
    expect(shown).toEqual([second, first, before].map((id) => `Details of ${id}`));
    expect(await rowOf(page, other).count()).toBe(0);
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText("Connected").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("does not move what one reads: what is new waits, is counted, and is shown on request", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 90);
    const { page } = await site.open(owner, "/audit?live=true");
    await page.getByText("Connected").waitFor();
    const frame = page.locator(".EntryFrame_frame");
    await frame.evaluate((element) => element.scrollTo({ top: 1_000 }));
    const read = rowsOf(page).filter({ hasText: "192.0.2.66" });
    const { y } = (await read.boundingBox()) ?? { y: Number.NaN };
    const asked = [
      await chat(site.service.baseUrl, owner.key),
      await chat(site.service.baseUrl, owner.key),
      await chat(site.service.baseUrl, owner.key),
    ];
    await page.getByRole("button", { name: "3 new" }).waitFor();
    expect((await read.boundingBox())?.y).toBe(y);
    await page.getByRole("button", { name: "3 new" }).click();
    for (const id of asked) await rowOf(page, id).waitFor();
    expect(await frame.evaluate((element) => element.scrollTop)).toBe(0);
    expect(await page.getByRole("button", { name: "3 new" }).count()).toBe(0);
    await goToEnd(page);
    await page.getByText("93 entries in total.").waitFor();
  });

  it("says that the connection was lost, comes back by itself, and misses nothing", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await using proxy = await openTcpProxy(Number(new URL(site.service.baseUrl).port));
    const { page } = await site.open(
      { ...owner, baseUrl: `http://127.0.0.1:${proxy.port}` },
      "/audit?live=true",
    );
    await page.getByText("Connected").waitFor();
    const first = await chat(site.service.baseUrl, owner.key);
    await rowOf(page, first).waitFor();
    proxy.cut();
    await page.getByText("Reconnecting…").waitFor();
    const missed = [await chat(site.service.baseUrl, owner.key), await chat(site.service.baseUrl, owner.key)];
    proxy.heal();
    await page.getByText("Connected").waitFor();
    for (const id of missed) await rowOf(page, id).waitFor();
    const after = await chat(site.service.baseUrl, owner.key);
    await rowOf(page, after).waitFor();
    await page.getByText("4 entries in total.").waitFor();
  });

  it("begins to follow when the service can do it again", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.page();
    const tails = (url: URL) => url.pathname.includes("audit.tail");
    await page.route(tails, (route) => route.fulfill({ status: 503, json: {} }));
    await signInBy(page, owner);
    await page.goto("/audit?live=true");
    await page.getByText("Connecting…").waitFor();
    await page.unroute(tails);
    await page.getByText("Connected").waitFor();
    await rowOf(page, await chat(site.service.baseUrl, owner.key)).waitFor();
  });

  it("leads to signing in, and back, when the session has ended", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/audit?live=true");
    await page.getByText("Connected").waitFor();
    await owner.trpc.auth.signOut.mutate();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(new URL(page.url()).searchParams.get("to")).toBe("/audit?live=true");
  });

  it("leads to signing in when the session had ended before", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    await owner.trpc.auth.signOut.mutate();
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("tells when more came at once than it can show, and has all of it", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/audit");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    const nextList = () => page.waitForResponse((response) => response.url().includes("audit.list"));
    // What was recorded before following had begun.
    const begun = nextList();
    await page.getByRole("button", { name: "Live" }).click();
    await begun;
    const first = await chat(site.service.baseUrl, owner.key);
    await rowOf(page, first).waitFor();
    const readAgain = nextList();
    await insertEntries(site.service, owner, 1_000);
    await page.getByText("800 more entries arrived too fast to show.").waitFor();
    await readAgain;
    await goToEnd(page);
    await page.getByText("1,001 entries in total.").waitFor();
  });
});
