import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInRow, signOut, toastOf } from "../fixtures/menu.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import {
  composerOf,
  figureOf,
  messageOn,
  modelOn,
  openPlaygroundSite,
  sayAndHear,
} from "./playground-site.ts";
import { fillSignIn } from "./sign-in.ts";

const playground = openPlaygroundSite();

async function openHistory(page: Page) {
  await page.getByRole("button", { name: "History" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("never on the server").waitFor();
  return dialog;
}

/** What the browser's database holds, as text. */
function databaseOf(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const names = (await indexedDB.databases()).map(({ name }) => name ?? "");
    const contents = names.map(
      (name) =>
        new Promise<unknown[]>((resolve, reject) => {
          const request = indexedDB.open(name);
          request.onerror = () => reject(request.error);
          request.onsuccess = () => {
            const database = request.result;
            const stores = [...database.objectStoreNames];
            if (stores.length === 0) return resolve([]);
            const transaction = database.transaction(stores);
            const reads = stores.map((store) => transaction.objectStore(store).getAll());
            transaction.oncomplete = () => {
              database.close();
              resolve(reads.map(({ result }) => result));
            };
          };
        }),
    );
    return JSON.stringify(await Promise.all(contents));
  });
}

describe.skipIf(!hasBrowser)("the history of the playground", () => {
  it("keeps chats to open, rename and delete; signing out deletes them, and no key is in it", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "the first chat");
    await page.getByRole("button", { name: "New chat" }).click();
    await sayAndHear(page, "the second chat");
    await expect.poll(() => databaseOf(page)).toContain("the second chat");
    expect(await databaseOf(page)).not.toContain(owner.key);

    let dialog = await openHistory(page);
    expect(await violationsOf(page)).toEqual([]);
    await chooseInRow(page, "the first chat", "Rename");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("My experiment");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: /^My experiment/ }).click();
    await dialog.waitFor({ state: "detached" });
    await messageOn(page, 2).getByText("the first chat").waitFor();

    dialog = await openHistory(page);
    await chooseInRow(page, "the second chat", "Delete");
    await toastOf(page, "Chat “the second chat” deleted").waitFor();
    await expect.poll(() => databaseOf(page)).not.toContain("the second chat");
    await dialog.getByRole("button", { name: /^My experiment/ }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();

    await signOut(page);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await expect.poll(() => databaseOf(page)).not.toContain("first chat");
  });

  it("clears all", async () => {
    const { page } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "soon gone");
    await expect.poll(() => databaseOf(page)).toContain("soon gone");
    const dialog = await openHistory(page);
    await dialog.getByRole("button", { name: "Clear all" }).dblclick();
    await dialog.getByText("soon gone").waitFor();
    await dialog.getByRole("button", { name: "Delete the chat" }).click();
    await dialog.getByText("No chats yet.").waitFor();
    await expect.poll(() => databaseOf(page)).not.toContain("soon gone");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("Send a message to start").waitFor();
  });

  it("asks once for the cost of an old answer whose log entry has been deleted", async () => {
    const { page } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "long ago");
    // The id of a request begins with its time.
    await page.addInitScript(() => {
      for (const [name, value] of Object.entries(sessionStorage)) {
        sessionStorage.setItem(name, value.replace(/req_[0-9a-f]{12}/g, "req_018000000000"));
      }
    });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.reload();
    const answer = messageOn(page, 2);
    await figureOf(answer, "Cost").getByText("no longer in the request log").waitFor();
    expect(asked.filter((url) => url.includes("audit.get"))).toHaveLength(1);
    expect(await answer.getByRole("link", { name: /^Entry/ }).count()).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("a duplicated tab", () => {
  it("goes on with a chat of its own", async () => {
    const { page } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "said in both");
    await expect.poll(() => databaseOf(page)).toContain("said in both");
    const idIn = (tab: Page) =>
      tab.evaluate(() => String(JSON.parse(sessionStorage.getItem("playground") ?? "{}").id));
    const id = await idIn(page);
    // A window that a page opens has a copy of its storage, as a duplicated tab has.
    const opened = page.waitForEvent("popup");
    await page.evaluate(() => void window.open(location.href));
    const copy = await opened;
    await messageOn(copy, 2).getByText("said in both").waitFor();
    await expect.poll(() => idIn(copy)).not.toBe(id);
    await sayAndHear(copy, "said in the copy");
    await sayAndHear(page, "said in the original");
    await expect
      .poll(() => databaseOf(page))
      .toMatch(/said in the (copy|original).*said in the (copy|original)/s);
    await page.reload();
    await messageOn(page, 4).getByText("said in the original").waitFor();
    expect(await page.getByText("said in the copy").count()).toBe(0);
    expect(await idIn(page)).toBe(id);
    const dialog = await openHistory(page);
    expect(await dialog.getByRole("listitem").count()).toBe(2);

    // The history opens a chat of another tab as a copy, which is stored when it changes.
    await dialog.getByRole("listitem").nth(1).getByRole("button").first().click();
    await messageOn(page, 4).getByText("said in the copy").waitFor();
    const idOfCopy = await idIn(copy);
    await expect.poll(() => idIn(page)).not.toBe(idOfCopy);
  });
});

describe.skipIf(!hasBrowser)("a shared chat", () => {
  it("opens for somebody else as it was, and sends nothing; the link has no key", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    await page.getByLabel("System prompt").fill("Be brief.");
    await sayAndHear(page, "shared words");
    await composerOf(page).fill("not sent yet");
    await page.getByRole("button", { name: "Share" }).click();
    const link = await page.getByRole("dialog").getByLabel("Link").inputValue();
    expect(link).not.toContain(owner.key);
    expect(link).not.toContain(owner.id);

    const other = await signUpWithKey(playground.site.service.baseUrl);
    const { page: theirs, complaints } = await playground.site.page();
    await theirs.goto(link);
    // Who is not signed in is led to the chat all the same.
    await fillSignIn(theirs, other);
    await theirs.getByText("Opened from a link. Nothing was sent.").waitFor();
    await messageOn(theirs, 2).getByText("shared words").waitFor();
    expect(await theirs.getByLabel("System prompt").inputValue()).toBe("Be brief.");
    expect(await composerOf(theirs).inputValue()).toBe("not sent yet");
    await expect.poll(() => modelOn(theirs)).toBe("acme/echo");
    await expect.poll(() => new URL(theirs.url()).hash).toBe("");
    const { entries } = await other.trpc.audit.list.query({ limit: 1 });
    expect(entries).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("that is damaged opens nothing", async () => {
    const { page } = await playground.openPlayground("acme/echo");
    await page.goto("/playground#chat=AAAA");
    await page.getByText("The link is damaged.").waitFor();
    await page.getByText("Send a message to start").waitFor();
  });
});
