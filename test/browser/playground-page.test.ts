import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { signOut, toastOf } from "../fixtures/menu.ts";
import { chunkOf } from "../fixtures/model-server.ts";
import { goToKeys } from "../fixtures/site.ts";
import { signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { searchIn } from "./audit-page.ts";
import {
  answerInStream,
  composerOf,
  endStream,
  figureOf,
  messageOn,
  modelOn,
  openParameters,
  openPlaygroundSite,
  say,
  sayAndHear,
} from "./playground-site.ts";
import { fillSignIn } from "./sign-in.ts";

const playground = openPlaygroundSite();

describe.skipIf(!hasBrowser)("the playground", () => {
  it("takes messages of several lines from a keyboard on the screen", async () => {
    const viewport = { width: 375, height: 800 };
    const touch = { viewport, hasTouch: true, isMobile: true };
    const { page } = await playground.openPlayground("acme/echo", touch);
    await composerOf(page).fill("first");
    await composerOf(page).press("Enter");
    await page.keyboard.type("second");
    expect(await composerOf(page).inputValue()).toBe("first\nsecond");
    await page.getByRole("button", { name: "Send", exact: true }).tap();
    await messageOn(page, 2).getByText("second").waitFor();
  });

  it("keeps its buttons free from what is said in the corner of the window", async () => {
    const { page } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "copy this");
    for (const width of [1_280, 375]) {
      await page.setViewportSize({ width, height: 800 });
      await messageOn(page, 2).getByRole("button", { name: "Copy message 2" }).click();
      const toast = toastOf(page, "Copied message 2").last();
      await toast.waitFor();
      const bottom = await toast.evaluate((text) => text.getBoundingClientRect().bottom);
      const send = await page.getByRole("button", { name: "Send", exact: true }).boundingBox();
      expect(bottom).toBeLessThan(send?.y ?? 0);
    }
  });

  it("has Stop in the row of its other buttons on a phone, so that Send stays in its place", async () => {
    const viewport = { width: 360, height: 800 };
    const { page } = await playground.openPlayground("acme/image", { viewport });
    const isInRow = async (name: string) => {
      const [row, button] = await Promise.all([
        page.locator(".Composer_left").boundingBox(),
        page.getByRole("button", { name, exact: true }).boundingBox(),
      ]);
      return row !== null && button !== null && button.y < row.y + row.height;
    };
    await composerOf(page).fill("A long one");
    expect(await isInRow("Send")).toBe(true);
    const held = playground.heldStream({ content: "It begins" });
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const response = await held;
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    expect(await Promise.all(["Stop", "Send"].map(isInRow))).toEqual([true, true]);
    endStream(response);
  });

  it("shows the newest message to a reader who returns, reloads, or opens a chat of the history", async () => {
    playground.answerWith((request) => answerInStream(request, ["line\n\n".repeat(80), "the end"]));
    const { page } = await playground.openPlayground();
    await sayAndHear(page, "A long one");
    const expectEnd = () =>
      expect
        .poll(async () => (await messageOn(page, 2).getByText("the end").boundingBox())?.y ?? 10_000)
        .toBeLessThan(page.viewportSize()?.height ?? 0);
    await expectEnd();
    const navigation = page.getByRole("navigation", { name: "Main" });
    await navigation.getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await navigation.getByRole("link", { name: "Playground" }).click();
    await expectEnd();
    await page.reload();
    await expectEnd();
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByRole("button", { name: "History", exact: true }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^A long one/ })
      .click();
    await expectEnd();
  });

  it("leads who is not signed in any more to sign in, and back to the conversation", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    await sayAndHear(page, "before");
    const cookies = await page.context().cookies();
    const elsewhere = visit(playground.site.service.baseUrl, {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
    });
    await elsewhere.trpc.auth.signOut.mutate();
    await say(page, "after");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await fillSignIn(page, owner);
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("acme/echo");
    await messageOn(page, 3).getByText("after").waitFor();
    // It does not ask them to sign in once more, and names no entry, as the log has none.
    const failure = page.getByRole("alert");
    await failure.getByText("Your session ended before the message was sent.").waitFor();
    expect(await failure.getByText("Sign in").or(failure.getByRole("link")).count()).toBe(0);
    await page.getByRole("button", { name: "Try again" }).click();
    await figureOf(messageOn(page, 4), "Cost").filter({ hasText: "$" }).waitFor();
  });

  it("has the conversation still after a reload, no key in any store, and nothing for whoever signs in next", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    await openParameters(page);
    await page.getByLabel("temperature", { exact: true }).fill("0.7");
    await sayAndHear(page, "remember this");
    await composerOf(page).fill("not sent yet");
    await page.reload();
    await messageOn(page, 2).getByText("remember this").waitFor();
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(await composerOf(page).inputValue()).toBe("not sent yet");
    expect(await page.getByLabel("temperature", { exact: true }).inputValue()).toBe("0.7");
    const stored = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(await stored()).toContain("remember this");
    expect(await stored()).not.toContain(owner.key);

    await signOut(page);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await stored()).not.toContain("remember this");
    await page.reload();
    expect(await stored()).not.toContain("remember this");
    await fillSignIn(page, await signUpWithKey(playground.site.service.baseUrl));
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByText("Send a message to start").waitFor();
  });

  it("goes on with an answer while its reader looks at another page", async () => {
    const { page } = await playground.openPlayground();
    const held = playground.heldStream({ content: "begun" });
    await say(page, "Take your time");
    await messageOn(page, 2).getByText("begun").waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    const response = await held;
    response.write(chunkOf({ content: " and ended" }));
    endStream(response);
    await page.getByRole("link", { name: "Playground" }).click();
    await messageOn(page, 2).getByText("begun and ended").waitFor();
    expect(await modelOn(page)).toBe("acme/talker");
  });

  it("makes the request with the key that was chosen, and remembers it; one that was revoked is refused", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    const { id } = await owner.trpc.keys.create.mutate({ name: "second" });
    await page.reload();
    const choice = page.getByLabel("Key", { exact: true });
    await choice.selectOption(id);
    await sayAndHear(page, "as the second");
    const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
    expect(entries[0]?.keyName).toBe("second");
    await page.reload();
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    expect(await choice.inputValue()).toBe(id);

    await owner.trpc.keys.revoke.mutate({ id });
    await say(page, "once more");
    await page.getByRole("alert").getByText("The API key was revoked.").waitFor();
    await page.getByRole("alert").getByText("Choose another key.").waitFor();
    // The list of keys has heard of it.
    await expect.poll(() => choice.inputValue()).toBe(owner.id);
    await page.getByRole("button", { name: "Try again" }).click();
    await figureOf(messageOn(page, 4), "Cost").filter({ hasText: "$" }).waitFor();
  });

  it("leaves keys in a rotation alone unless one is chosen, and asks when there is no other", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    const other = await owner.trpc.keys.create.mutate({ name: "production" });
    const next = await owner.trpc.keys.rotate.mutate({ id: other.id });
    await page.reload();
    const choice = page.getByLabel("Key", { exact: true });
    await expect.poll(() => choice.inputValue()).toBe(owner.id);
    await sayAndHear(page, "spoils no rotation");
    const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
    expect(entries[0]?.keyName).toBe("test");

    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await page.reload();
    await expect.poll(() => choice.inputValue()).toBe("");
    await say(page, "with which key?");
    await page.getByRole("alert").getByText("Choose a key first.").waitFor();
    await choice.selectOption(next.id);
    await page.getByText("counts requests from here as its traffic").waitFor();
    await page.reload();
    await expect.poll(() => choice.inputValue()).toBe(next.id);
  });

  it("searches the keys of an account that has many, and loads the first ones only", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    const { keys } = owner.trpc;
    for (let begun = 0; begun < 100; begun += 20) {
      const names = Array.from({ length: 20 }, (_, index) => `old ${begun + index}`);
      const created = await Promise.all(names.map((name) => keys.create.mutate({ name })));
      await Promise.all(created.map(({ id }) => keys.revoke.mutate({ id })));
    }
    await keys.create.mutate({ name: "newest" });
    const lists: string[] = [];
    page.on("response", (response) => {
      if (response.url().includes("keys.list")) lists.push(decodeURIComponent(response.url()));
    });
    await page.reload();
    const choice = page.getByRole("combobox", { name: "Key", exact: true });
    await searchIn(page, "Key", "tes");
    await page.getByRole("option", { name: /^test / }).click();
    await sayAndHear(page, "as the chosen one");
    const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
    expect(entries[0]?.keyName).toBe("test");
    await page.reload();
    await expect.poll(() => choice.textContent()).toMatch(/^test /);
    expect(lists.length).toBeGreaterThan(0);
    expect(lists.every((url) => url.includes("limit"))).toBe(true);
  });

  it("leads who has no key to create one", async () => {
    const owner = await signUp(playground.site.service.baseUrl);
    const { page } = await playground.site.page();
    await goToKeys(page, owner);
    await page.getByRole("link", { name: "Playground" }).click();
    await say(page, "hello?");
    await page.getByRole("alert").getByText("Create a key first").waitFor();
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
  });

  it("finds models by alias from the keyboard, keeps the choice in the address, and tells of one that is not there", async () => {
    const { page } = await playground.openPlayground("no/such-model");
    await page.getByText("The catalog has no chat model “no/such-model”.").waitFor();
    await page.getByRole("combobox", { name: "Model" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("combobox", { name: "Search models" }).waitFor();
    await page.keyboard.type("talker");
    await page.getByRole("option", { name: /acme\/talker/ }).waitFor();
    await expect.poll(() => page.locator("[role=listbox] [role=option]").count()).toBe(1);
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).searchParams.get("model")).toBe("acme/talker");
    expect(await modelOn(page)).toBe("acme/talker");
    // An alias does, too.
    await page.goto("/playground?model=talker");
    await expect.poll(() => modelOn(page)).toBe("acme/talker");
  });
});

describe.skipIf(!hasBrowser)("everyone in the playground", () => {
  it.each(["light", "dark"] as const)(
    "has nothing that axe finds wrong: %s",
    async (colorScheme) => {
      const { page } = await playground.openPlayground("acme/echo", { colorScheme });
      expect(await violationsOf(page)).toEqual([]);
      await sayAndHear(page, "Hello");
      await openParameters(page);
      await page.getByLabel("temperature", { exact: true }).fill("9");
      await say(page, "sandbox:error 429");
      await page.getByRole("button", { name: "Reset temperature" }).click();
      await composerOf(page).press("Enter");
      await page.getByRole("alert").getByText("simulates status 429").waitFor();
      await page.getByRole("button", { name: "Edit message 1" }).click();
      expect(await violationsOf(page)).toEqual([]);
      await page.getByRole("combobox", { name: "Model" }).click();
      await page.getByRole("option", { name: /acme\/lorem/ }).waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "View as code" }).click();
      await page.getByRole("dialog").getByText("curl -N").waitFor();
      expect(await violationsOf(page)).toEqual([]);
    },
    120_000,
  );

  it("needs no sideways scrolling on a phone, whatever is said", async () => {
    const { page } = await playground.openPlayground("acme/echo", { viewport: { width: 375, height: 800 } });
    await sayAndHear(page, `${"unbreakable".repeat(40)} and a word`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    expect(await violationsOf(page)).toEqual([]);
  });
});
