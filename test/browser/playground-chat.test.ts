import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { answerWhole, chunkOf } from "../fixtures/model-server.ts";
import {
  answerInStream,
  CHARGED,
  composerOf,
  endStream,
  figureOf,
  messageOn,
  openParameters,
  openPlaygroundSite,
  say,
  sayAndHear,
  withoutHttpErrors,
} from "./playground-site.ts";

const playground = openPlaygroundSite();

describe.skipIf(!hasBrowser)("a chat in the playground", () => {
  it("shows the answer as it comes, then what it took and what was charged, and leads to its entry", async () => {
    const bench = await playground.openPlayground();
    const { page, owner } = bench;
    const held = playground.heldStream({ reasoning_content: "They greet." }, { content: "Hello\n  " });
    await say(page, "Good morning");
    await messageOn(page, 2).getByText("Hello").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    const status = page.locator(".PlaygroundLayout_talk > [role=status]");
    expect(await status.textContent()).toBe("");

    const response = await held;
    response.write(chunkOf({ content: "there" }));
    endStream(response);
    await figureOf(messageOn(page, 2), "Cost").getByText(CHARGED).waitFor();
    expect(await figureOf(messageOn(page, 2), "Tokens").textContent()).toBe("1,000 in, 200 out");
    expect(await figureOf(messageOn(page, 2), "Time to first token").textContent()).toMatch(
      /^\d+ ms$|^\d+\.\d s$/,
    );
    await page.getByRole("button", { name: "Raw message 2" }).click();
    expect(await messageOn(page, 2).locator(".Message_messageText").last().textContent()).toBe(
      "Hello\n  there",
    );
    // Screen readers are told once, at the end.
    expect(await status.textContent()).toBe("Answer: Hello\n  there");
    await page.getByText("Reasoning").click();
    await page.getByText("They greet.").waitFor();
    expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);

    const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
    expect(entries[0]).toMatchObject({ keyName: "test", model: "acme/talker", costNanoUsd: 1_800_000n });
    const link = messageOn(page, 2).getByRole("link", { name: /^Entry/ });
    expect(await link.getAttribute("href")).toBe(`/audit?entry=${entries[0]?.requestId}`);
    expect(bench.complaints).toEqual([]);
  });

  it("is stopped: the model's server is dropped, and what was said stays", async () => {
    const bench = await playground.openPlayground();
    const { page } = bench;
    void playground.heldStream({ content: "so far" });
    await say(page, "Go on for ever");
    await messageOn(page, 2).getByText("so far").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await playground.models.received.at(-1)?.dropped;
    await messageOn(page, 2).getByText("Stopped.").waitFor();
    await messageOn(page, 2).getByText("so far").waitFor();
    await expect
      .poll(() => composerOf(page).evaluate((field) => field === document.activeElement))
      .toBe(true);
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(withoutHttpErrors(bench)).toEqual([]);
  });

  it("has turns, which are edited, deleted, put back and cleared; what is sent is what stands there", async () => {
    const { page } = await playground.openPlayground();
    await composerOf(page).fill("one");
    await composerOf(page).press("Shift+Enter");
    await page.keyboard.type("and a half");
    await page.keyboard.press("Enter");
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(playground.lastBody()).toEqual({
      model: "inner",
      messages: [{ role: "user", content: "one\nand a half" }],
      stream: true,
      stream_options: { include_usage: true },
    });

    await page.getByRole("button", { name: "Edit message 2" }).click();
    await page.getByLabel("Text of message 2").fill("from near");
    await page.getByRole("button", { name: "Save" }).click();
    expect(await messageOn(page, 2).locator(".AnswerFigures_answerFigures").count()).toBe(0);
    await page.getByRole("button", { name: "Delete message 1" }).click();
    expect(await page.locator(".Message_message").count()).toBe(1);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByLabel("System prompt").fill("Be brief.");
    await sayAndHear(page, "two");
    expect(playground.lastBody().messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one\nand a half" },
      { role: "assistant", content: "from near" },
      { role: "user", content: "two" },
    ]);

    const received = playground.models.received.length;
    await page.getByRole("button", { name: "Regenerate" }).click();
    await expect.poll(() => playground.models.received.length).toBe(received + 1);
    await figureOf(messageOn(page, 4), "Cost").filter({ hasText: "$" }).waitFor();
    expect((playground.lastBody().messages as unknown[]).length).toBe(4);
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByText("Send a message to start").waitFor();
  });

  it("is not sent, nor an edit dropped, by a key that belongs to an input method", async () => {
    const { page } = await playground.openPlayground();
    // As Safari reports the key that completes a word or drops it: after the composition, with a code that says so.
    const pressInComposition = (field: Locator, key: string) =>
      field.dispatchEvent("keydown", { key, keyCode: 229, bubbles: true, cancelable: true });
    await composerOf(page).fill("日本");
    await pressInComposition(composerOf(page), "Enter");
    expect(await composerOf(page).inputValue()).toBe("日本");
    expect(await page.locator(".Message_message").count()).toBe(0);
    await page.getByRole("button", { name: "Add without sending" }).click();
    await page.getByRole("button", { name: "Edit message 1" }).click();
    const edit = page.getByLabel("Text of message 1");
    await edit.fill("日本語");
    await pressInComposition(edit, "Escape");
    expect(await edit.inputValue()).toBe("日本語");
    await edit.press("Escape");
    await edit.waitFor({ state: "detached" });
  });

  it("sends the parameters that are set, and none that is not", async () => {
    const { page } = await playground.openPlayground();
    await openParameters(page);
    await page.getByLabel("temperature", { exact: true }).fill("0.2");
    await page.getByLabel("max_completion_tokens", { exact: true }).fill("50");
    await page.getByLabel("stop", { exact: true }).fill("END\n\\n\\n");
    await page.getByLabel("Output", { exact: true }).selectOption("JSON");
    await page.getByLabel("top_p", { exact: true }).fill("0.5");
    await page.getByRole("button", { name: "Reset top_p" }).click();
    await page.getByLabel("Stream the answer").uncheck();
    playground.answerWith((request) => answerWhole(request, '{"answer": 42}'));
    await sayAndHear(page, "In JSON, please");
    expect(playground.lastBody()).toEqual({
      model: "inner",
      messages: [{ role: "user", content: "In JSON, please" }],
      temperature: 0.2,
      max_completion_tokens: 50,
      stop: ["END", "\n\n"],
      response_format: { type: "json_object" },
    });
    await messageOn(page, 2).getByText('"answer": 42').waitFor();
    await messageOn(page, 2).getByText("Valid JSON.").waitFor();

    const before = playground.models.received.length;
    await page.getByLabel("temperature", { exact: true }).fill("3");
    await say(page, "and now?");
    await page.getByRole("alert").getByText("temperature: Enter a number from 0 to 2.").waitFor();
    expect(playground.models.received.length).toBe(before);
    expect(await composerOf(page).inputValue()).toBe("and now?");
  });

  it("tells a refusal in the service's words, keeps what was said, and tries again", async () => {
    const bench = await playground.openPlayground();
    const { page } = bench;
    playground.answerWith(({ response }) => response.writeHead(429, { "retry-after": "2" }).end("{}"));
    await say(page, "Are you there?");
    const alert = page.getByRole("alert");
    await alert.getByText("The model's provider is busy. Try again shortly.").waitFor();
    await alert.getByText("Wait 2 seconds").waitFor();
    await alert.getByText("server_is_overloaded").waitFor();
    expect(await page.locator(".Message_message").count()).toBe(1);
    playground.answerWith((request) => answerInStream(request, ["yes"]));
    await alert.getByRole("button", { name: "Try again" }).click();
    await messageOn(page, 2).getByText("yes").waitFor();
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(playground.lastBody().messages).toEqual([{ role: "user", content: "Are you there?" }]);
    expect(withoutHttpErrors(bench)).toEqual([]);
  });

  it("keeps what came of an answer that broke off, and tries again for the whole", async () => {
    const { page } = await playground.openPlayground();
    playground.answerWith(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "half of" }), () => response.destroy());
    });
    await say(page, "Tell me all");
    await messageOn(page, 2).getByText("Answer interrupted.").waitFor();
    await messageOn(page, 2).getByText("half of").waitFor();
    playground.answerWith((request) => answerInStream(request, ["half of", " it and the rest"]));
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
    await messageOn(page, 2).getByText("half of it and the rest").waitFor();
    expect(await page.locator(".Message_message").count()).toBe(2);
  });

  it("follows the answer to the end of the page, unless its reader scrolls up", async () => {
    const { page } = await playground.openPlayground("acme/talker", {
      viewport: { width: 1_200, height: 600 },
    });
    const held = playground.heldStream();
    await say(page, "A long one");
    const response = await held;
    const more = async (last: string) => {
      response.write(chunkOf({ content: `${"line\n\n".repeat(60)}${last}\n` }));
      await messageOn(page, 2).getByText(last).waitFor();
    };
    const below = () =>
      page.evaluate(() => {
        const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
        return scrollHeight - scrollTop - clientHeight;
      });
    await more("first");
    await expect.poll(below).toBeLessThan(2);
    await more("second");
    await expect.poll(below).toBeLessThan(2);
    await page.mouse.wheel(0, -400);
    await expect.poll(below).toBeGreaterThan(300);
    const top = await page.evaluate(() => document.documentElement.scrollTop);
    await more("third");
    expect(await page.evaluate(() => document.documentElement.scrollTop)).toBe(top);
    endStream(response);
  });
});
