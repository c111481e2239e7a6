// The command palette: pages, keys, models, requests, accounts and actions from anywhere.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertKeys } from "../fixtures/keys.ts";
import { chooseInAccountMenu } from "../fixtures/menu.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { openSite } from "../fixtures/site.ts";
import { type Owner, signUpWithKey, type Visitor } from "../fixtures/user.ts";

const site = openSite(startOperatedService);
let owner: Owner & { readonly key: string };
let operator: Visitor;

beforeAll(async () => {
  if (!hasBrowser) return;
  operator = await signInOperator(site.service.baseUrl);
  owner = await signUpWithKey(site.service.baseUrl);
});

async function openPalette(visitor: Visitor, path = "/"): Promise<{ page: Page; complaints: string[] }> {
  const watched = await site.open(visitor, path);
  await watched.page.getByRole("heading", { level: 1 }).waitFor();
  await watched.page.keyboard.press("Control+k");
  await watched.page.getByRole("combobox", { name: "Search everything" }).waitFor();
  return watched;
}

/** Holds the palette's code back, as a slow network does, until the function that it returns is called. */
async function holdCode(page: Page): Promise<() => void> {
  let send = () => {};
  const isSent = new Promise<void>((resolve) => {
    send = resolve;
  });
  await page.route(/\/assets\/Palette-[^/]*\.js$/, async (route) => {
    await isSent;
    await route.continue();
  });
  return send;
}

const option = (page: Page, name: string | RegExp) => page.getByRole("option", { name });

describe.skipIf(!hasBrowser)("the command palette", () => {
  it("opens pages by the beginnings of their words, by keyboard alone", async () => {
    const { page, complaints } = await openPalette(owner);
    await page.keyboard.type("req lo");
    await option(page, "Request log").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("opens from a keyboard of another script, whose letters also lead to pages", async () => {
    const { page } = await site.open(owner, "/models");
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    const press = (key: string, code: string, ctrlKey = false) =>
      page.evaluate(
        (init) => document.body.dispatchEvent(new KeyboardEvent("keydown", { ...init, bubbles: true })),
        { key, code, ctrlKey },
      );
    await press("п", "KeyG");
    await press("л", "KeyK");
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await press("л", "KeyK", true);
    await page.getByRole("combobox", { name: "Search everything" }).waitFor();
  });

  it("finds a key of an account that has more than a thousand", async () => {
    const many = await signUpWithKey(site.service.baseUrl);
    await insertKeys(site.service, many, 1_100);
    const { page } = await openPalette(many);
    await page.keyboard.type("test");
    // The oldest key, which the first page of the list does not have.
    await option(page, /^test/).waitFor();
    await page.getByRole("combobox", { name: "Search everything" }).fill("deployment 7");
    await option(page, /^deployment 7/)
      .first()
      .waitFor();
    await page.getByRole("combobox", { name: "Search everything" }).fill("no such key");
    await page.getByText("Nothing found.").waitFor();
    // On the page of keys, too.
    await page.getByRole("combobox", { name: "Search everything" }).fill("test");
    await option(page, /^test/).click();
    await page.getByRole("heading", { level: 1, name: "test" }).waitFor();
    await page.getByRole("link", { name: "API keys" }).first().click();
    await page.getByLabel("Search", { exact: true }).fill("tes");
    await page.getByRole("button", { name: "Actions for test" }).waitFor();
    await page.getByLabel("Search", { exact: true }).fill("no such key");
    await page.getByText("No key matches “no such key”.").waitFor();
    // All keys that are listed are active, and a revoked one is not.
    await many.trpc.keys.revoke.mutate({ id: many.id });
    await page.goto("/settings/keys?state=revoked");
    await page.getByText("No revoked key is among those that are listed.").waitFor();
  });

  it("gets what is typed before it has the focus, and nothing else does", async () => {
    const { page } = await site.open(owner, "/playground");
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.fill("Hello");
    const send = await holdCode(page);
    await message.press("Control+k");
    await page.keyboard.type("modelx");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Enter");
    expect(await message.inputValue()).toBe("Hello");
    expect(await page.locator(".Message_message").count()).toBe(0);
    send();
    const search = page.getByRole("combobox", { name: "Search everything" });
    await expect.poll(() => search.inputValue()).toBe("model");
    await page.keyboard.type("s");
    await option(page, "Models").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => message.evaluate((field) => field === document.activeElement)).toBe(true);
    await page.keyboard.type("!");
    await expect.poll(() => message.inputValue()).toBe("Hello!");
  });

  it("is not opened any more once Escape was pressed while its code was loaded", async () => {
    const { page } = await site.open(owner, "/playground");
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    const send = await holdCode(page);
    const loaded = page.waitForResponse(/\/assets\/Palette-/);
    await message.press("Control+k");
    await page.keyboard.press("Escape");
    await page.keyboard.type("Hello");
    expect(await message.inputValue()).toBe("Hello");
    send();
    await loaded;
    await page.waitForLoadState("networkidle");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("finds a key, a model, and a request by its id", async () => {
    const answer = await fetch(`${site.service.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    const requestId = answer.headers.get("x-request-id") ?? "";
    const { page } = await openPalette(owner, "/models");
    await page.keyboard.type("test");
    await option(page, /test/).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("lorem");
    await option(page, /sandbox\/lorem/).click();
    await page.getByRole("heading", { level: 1, name: "sandbox/lorem" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search everything" }).waitFor();
    await page.keyboard.insertText(`The request ${requestId} failed`);
    await option(page, /Open in the request log/).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("entry")).toBe(requestId);
  });

  it("creates a key from any page, and finds models while keys are still loading, with its hints below them", async () => {
    const { page } = await site.open(owner, "/settings/tokens");
    await page.getByRole("heading", { level: 1 }).waitFor();
    // Answered by nobody: neither is anything that is asked for with it.
    await page.route(/keys\.list/, () => undefined);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("lorem");
    await option(page, /sandbox\/lorem/).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("create");
    await option(page, "Create API key").waitFor();
    const list = await page.getByRole("listbox").boundingBox();
    const foot = await page.getByText("to move").boundingBox();
    expect(foot?.y).toBeGreaterThanOrEqual((list?.y ?? 0) + (list?.height ?? 0));
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await option(page, "Create API key").click();
    await page.getByRole("dialog", { name: "Create API key" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => new URL(page.url()).hash).toBe("");
  });

  it("finds accounts for operators by e-mail address and by a key, of which only the end is sent", async () => {
    const { page } = await openPalette(operator, "/operator");
    await page.keyboard.insertText(owner.email);
    await option(page, new RegExp(owner.email)).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url() + (request.postData() ?? "")));
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(owner.key);
    await option(page, new RegExp(owner.email)).click();
    await page.waitForURL(/\/operator\/accounts\//);
    expect(asked.join("\n")).toContain(owner.key.slice(-4));
    expect(asked.join("\n")).not.toContain(owner.key);
  });

  it("can be the only shortcut, for users whose speech is typed", async () => {
    const { page } = await site.open(owner, "/models");
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await page.keyboard.press("?");
    const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await shortcuts.getByLabel("Use shortcuts without Ctrl").uncheck();
    await page.keyboard.press("Escape");
    await shortcuts.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await page.keyboard.type("gc?");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search everything" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/models");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await chooseInAccountMenu(page, "Keyboard shortcuts");
    await shortcuts.getByLabel("Use shortcuts without Ctrl").check();
  });

  it("says when nothing is found, and closes on Escape", async () => {
    const { page } = await openPalette(owner);
    await page.keyboard.type("no such thing");
    await page.getByText("Nothing found.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  it.each(["light", "dark"] as const)("passes axe: %s", async (colorScheme) => {
    const { page } = await site.open(owner, "/models", { colorScheme });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByRole("button", { name: "Search" }).click();
    await option(page, "Overview").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Account menu" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a page that does not exist", () => {
  it("keeps the navigation, and leads to the start page", async () => {
    const { page } = await site.open(owner, "/no/such/page");
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
    await page.getByRole("link", { name: "Go to the start page" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a button that is off", () => {
  it("has the system's colour of such buttons where the system's colours are used", async () => {
    const full = await signUpWithKey(site.service.baseUrl);
    await insertKeys(site.service, full, 49);
    const { page } = await site.open(full, "/settings/keys", { forcedColors: "active" });
    await page.getByText("reached its limit").first().waitFor();
    const colours = () =>
      page.getByRole("button", { name: "Create key" }).evaluate((button) => {
        const probe = document.body.appendChild(document.createElement("span"));
        probe.style.color = "GrayText";
        const [off, shown] = [getComputedStyle(probe).color, getComputedStyle(button)];
        probe.remove();
        return { off, text: shown.color, border: shown.borderTopColor };
      });
    const { off, text, border } = await colours();
    expect({ text, border }).toEqual({ text: off, border: off });
  });

  it("keeps the focus, and says why at the pointer, at the keyboard and to screen readers", async () => {
    const full = await signUpWithKey(site.service.baseUrl);
    await insertKeys(site.service, full, 49);
    const { page } = await site.open(full, "/settings/keys");
    await page.getByText("reached its limit").first().waitFor();
    const create = page.getByRole("button", { name: "Create key" });
    await create.hover();
    await page.locator(".Tooltip_tooltip").getByText("its limit of 50 active keys").waitFor();
    await page.mouse.move(0, 0);
    await page.locator(".Tooltip_tooltip").waitFor({ state: "detached" });
    const reason = await create.evaluate(
      (button) => document.getElementById(button.getAttribute("aria-describedby") ?? "")?.textContent,
    );
    expect(reason).toContain("its limit of 50 active keys");
    await create.click({ force: true });
    expect(await page.getByRole("dialog").count()).toBe(0);
  });
});
