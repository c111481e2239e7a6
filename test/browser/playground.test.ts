import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, extended, NO_ANSWER } from "../../dashboard-ui/src/pages/playground/answer.ts";
import { eventsOf } from "../../dashboard-ui/src/pages/playground/sse.ts";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser, type WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { runInShell, runModule } from "../fixtures/run-code.ts";
import { startService } from "../fixtures/service.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import { fillSignIn } from "./sign-in.ts";

const USAGE = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };
/** Of that usage, by the prices of the catalog below. */
const CHARGED = "$0.0018";

let models: ModelServer;
let catalog: CatalogFile;
/** What the model's server does with a request. */
let answer: (request: ReceivedRequest) => void;

const site = openSite(async () => {
  models = await startModelServer((request) => answer(request));
  const prices = { inputUsdPerMTok: "1", outputUsdPerMTok: "4" };
  catalog = await writeCatalog({
    upstreams: { afar: { dialect: "openai", baseUrl: models.baseUrl }, sandbox: { dialect: "sandbox" } },
    models: [
      { id: "acme/talker", aliases: ["talker"], prices, routes: [{ upstream: "afar", model: "inner" }] },
      { id: "acme/echo", prices, routes: [{ upstream: "sandbox", model: "echo" }] },
      { id: "acme/lorem", routes: [{ upstream: "sandbox", model: "lorem" }] },
    ],
  });
  return startService({ env: { OSTIARY_CATALOG: catalog.file } });
});

afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
  await models?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  answer = (request) => answerInStream(request, ["from ", "afar"]);
});

/** A stream that says the pieces and ends as it should. */
function answerInStream({ response }: ReceivedRequest, pieces: readonly string[]): void {
  response.setHeader("content-type", "text/event-stream");
  for (const content of pieces) response.write(chunkOf({ content }));
  endStream(response);
}

/** A stream that goes on as the test says: what is sent on at once, and what the rest can be sent to. */
function heldStream(...deltas: readonly object[]): Promise<ReceivedRequest["response"]> {
  return new Promise((resolve) => {
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.flushHeaders();
      for (const delta of deltas) response.write(chunkOf(delta));
      resolve(response);
    };
  });
}

function endStream(response: ReceivedRequest["response"]): void {
  response.write(chunkOf({}, "stop"));
  response.end(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
}

interface Bench extends WatchedPage {
  readonly owner: Awaited<ReturnType<typeof signUpWithKey>>;
}

async function openBench(model = "acme/talker", options: BrowserContextOptions = {}): Promise<Bench> {
  const owner = await signUpWithKey(site.service.baseUrl);
  const watched = await site.open(owner, `/playground?model=${model}`, options);
  await watched.page.getByRole("heading", { name: "Conversation" }).waitFor();
  return { ...watched, owner };
}

function composerOf(page: Page): Locator {
  return page.getByRole("textbox", { name: "Message", exact: true });
}

async function modelOn(page: Page): Promise<string | null> {
  return page.getByRole("combobox", { name: "Model" }).textContent();
}

async function say(page: Page, text: string): Promise<void> {
  await composerOf(page).fill(text);
  await composerOf(page).press("Enter");
}

/** The message at a place from 1 on. */
function messageOn(page: Page, number: number): Locator {
  return page.locator(".message").nth(number - 1);
}

/** Says something and waits for what it cost. */
async function sayAndHear(page: Page, text: string): Promise<void> {
  const before = await page.locator(".message").count();
  await say(page, text);
  await figureOf(messageOn(page, before + 2), "Cost")
    .filter({ hasText: "$" })
    .waitFor();
}

function figureOf(message: Locator, name: string): Locator {
  return message
    .locator(".answer-figures > div")
    .filter({ has: message.page().getByText(name, { exact: true }) })
    .getByRole("definition");
}

/** What a stream says that curl has printed. */
function saidIn(stream: string): string {
  const events = stream.split("\n\n").filter((event) => event.startsWith("data: {"));
  return events.map((event) => JSON.parse(event.slice("data: ".length)).choices[0]?.delta.content).join("");
}

/** What the model's server was sent last. */
function lastBody(): Record<string, unknown> {
  return models.received.at(-1)?.body ?? {};
}

function withoutHttpErrors({ complaints }: WatchedPage): readonly string[] {
  // Chromium logs by itself that an answer was no success.
  return complaints.filter((text) => !text.startsWith("Failed to load resource"));
}

describe.skipIf(!hasBrowser)("a chat in the playground", () => {
  it("shows the answer as it comes, then what it took and what was charged, and leads to its entry", async () => {
    const bench = await openBench();
    const { page, owner } = bench;
    const held = heldStream({ reasoning_content: "They greet." }, { content: "Hello\n  " });
    await say(page, "Good morning");
    await messageOn(page, 2).getByText("Hello").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    const status = page.locator(".talk > [role=status]");
    expect(await status.textContent()).toBe("");

    const response = await held;
    response.write(chunkOf({ content: "there" }));
    endStream(response);
    await figureOf(messageOn(page, 2), "Cost").getByText(CHARGED).waitFor();
    expect(await figureOf(messageOn(page, 2), "Tokens").textContent()).toBe("1,000 in, 200 out");
    expect(await figureOf(messageOn(page, 2), "Time to first token").textContent()).toMatch(
      /^\d+ ms$|^\d+\.\d s$/,
    );
    expect(await messageOn(page, 2).locator(".message-text").last().textContent()).toBe("Hello\n  there");
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
    const bench = await openBench();
    const { page } = bench;
    void heldStream({ content: "so far" });
    await say(page, "Go on for ever");
    await messageOn(page, 2).getByText("so far").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await models.received.at(-1)?.dropped;
    await messageOn(page, 2).getByText("Stopped.").waitFor();
    await messageOn(page, 2).getByText("so far").waitFor();
    expect(await composerOf(page).evaluate((field) => field === document.activeElement)).toBe(true);
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(withoutHttpErrors(bench)).toEqual([]);
  });

  it("has turns, which are edited, deleted, put back and cleared; what is sent is what stands there", async () => {
    const { page } = await openBench();
    await composerOf(page).fill("one");
    await composerOf(page).press("Shift+Enter");
    await page.keyboard.type("and a half");
    await page.keyboard.press("Enter");
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(lastBody()).toEqual({
      model: "inner",
      messages: [{ role: "user", content: "one\nand a half" }],
      stream: true,
      stream_options: { include_usage: true },
    });

    await page.getByRole("button", { name: "Edit message 2" }).click();
    await page.getByLabel("Text of message 2").fill("from near");
    await page.getByRole("button", { name: "Save" }).click();
    expect(await messageOn(page, 2).locator(".answer-figures").count()).toBe(0);
    await page.getByRole("button", { name: "Delete message 1" }).click();
    expect(await page.locator(".message").count()).toBe(1);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByLabel("System prompt").fill("Be brief.");
    await sayAndHear(page, "two");
    expect(lastBody().messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one\nand a half" },
      { role: "assistant", content: "from near" },
      { role: "user", content: "two" },
    ]);

    await page.getByRole("button", { name: "Regenerate" }).click();
    await expect.poll(() => models.received.length).toBeGreaterThan(2);
    await figureOf(messageOn(page, 4), "Cost").filter({ hasText: "$" }).waitFor();
    expect((lastBody().messages as unknown[]).length).toBe(4);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("Send a message to start").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await messageOn(page, 4).waitFor();
  });

  it("sends the parameters that are set, and none that is not", async () => {
    const { page } = await openBench();
    await page.getByLabel("temperature", { exact: true }).fill("0.2");
    await page.getByLabel("max_completion_tokens", { exact: true }).fill("50");
    await page.getByLabel("stop", { exact: true }).fill("END\n\\n\\n");
    await page.getByLabel("response_format", { exact: true }).selectOption("JSON");
    await page.getByLabel("top_p", { exact: true }).fill("0.5");
    await page.getByRole("button", { name: "Reset top_p" }).click();
    await page.getByLabel("Stream the answer").uncheck();
    answer = (request) => answerWhole(request, '{"answer": 42}');
    await sayAndHear(page, "In JSON, please");
    expect(lastBody()).toEqual({
      model: "inner",
      messages: [{ role: "user", content: "In JSON, please" }],
      temperature: 0.2,
      max_completion_tokens: 50,
      stop: ["END", "\n\n"],
      response_format: { type: "json_object" },
    });
    await messageOn(page, 2).getByText('{"answer": 42}').waitFor();

    const before = models.received.length;
    await page.getByLabel("temperature", { exact: true }).fill("3");
    await say(page, "and now?");
    await page.getByRole("alert").getByText("temperature: Enter a number from 0 to 2.").waitFor();
    expect(models.received.length).toBe(before);
    expect(await composerOf(page).inputValue()).toBe("and now?");
  });

  it("tells a refusal in the service's words, keeps what was said, and tries again", async () => {
    const bench = await openBench();
    const { page } = bench;
    answer = ({ response }) => response.writeHead(429, { "retry-after": "2" }).end("{}");
    await say(page, "Are you there?");
    const alert = page.getByRole("alert");
    await alert.getByText("The model's server is busy. Try again shortly.").waitFor();
    await alert.getByText("Wait 2 seconds").waitFor();
    await alert.getByText("server_is_overloaded").waitFor();
    expect(await page.locator(".message").count()).toBe(1);
    answer = (request) => answerInStream(request, ["yes"]);
    await alert.getByRole("button", { name: "Try again" }).click();
    await messageOn(page, 2).getByText("yes").waitFor();
    await figureOf(messageOn(page, 2), "Cost").filter({ hasText: "$" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lastBody().messages).toEqual([{ role: "user", content: "Are you there?" }]);
    expect(withoutHttpErrors(bench)).toEqual([]);
  });

  it("keeps what came of an answer that broke off, and tries again for the whole", async () => {
    const { page } = await openBench();
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "half of" }), () => response.destroy());
    };
    await say(page, "Tell me all");
    await messageOn(page, 2).getByText("Answer interrupted.").waitFor();
    await messageOn(page, 2).getByText("half of").waitFor();
    answer = (request) => answerInStream(request, ["half of", " it and the rest"]);
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
    await messageOn(page, 2).getByText("half of it and the rest").waitFor();
    expect(await page.locator(".message").count()).toBe(2);
  });

  it("follows the answer to the end of the page, unless its reader scrolls up", async () => {
    const { page } = await openBench("acme/talker", { viewport: { width: 1_200, height: 600 } });
    const held = heldStream();
    await say(page, "A long one");
    const response = await held;
    const more = async (last: string) => {
      response.write(chunkOf({ content: `${"line\n".repeat(60)}${last}\n` }));
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

describe.skipIf(!hasBrowser)("the playground", () => {
  it("leads who is not signed in any more to sign in, and back to the conversation", async () => {
    const { page, owner } = await openBench("acme/echo");
    await sayAndHear(page, "before");
    const cookies = await page.context().cookies();
    const elsewhere = visit(site.service.baseUrl, {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
    });
    await elsewhere.trpc.auth.signOut.mutate();
    await say(page, "after");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await fillSignIn(page, owner);
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("acme/echo");
    await messageOn(page, 3).getByText("after").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await figureOf(messageOn(page, 4), "Cost").filter({ hasText: "$" }).waitFor();
  });

  it("has the conversation still after a reload, no key in any store, and nothing for whoever signs in next", async () => {
    const { page, owner } = await openBench("acme/echo");
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

    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await stored()).not.toContain("remember this");
    await page.reload();
    expect(await stored()).not.toContain("remember this");
    await fillSignIn(page, await signUpWithKey(site.service.baseUrl));
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByText("Send a message to start").waitFor();
  });

  it("goes on with an answer while its reader looks at another page", async () => {
    const { page } = await openBench();
    const held = heldStream({ content: "begun" });
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
    const { page, owner } = await openBench("acme/echo");
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

  it("leads who has no key to create one", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { page } = await site.page();
    await goToKeys(page, owner);
    await page.getByRole("link", { name: "Playground" }).click();
    await say(page, "hello?");
    await page.getByRole("alert").getByText("Create a key first").waitFor();
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
  });

  it("finds models by alias from the keyboard, keeps the choice in the address, and tells of one that is not there", async () => {
    const { page } = await openBench("no/such-model");
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

describe.skipIf(!hasBrowser)("the request as code", () => {
  it("runs as it is pasted, with each client: quotes, line breaks and parameters survive", async () => {
    const { page, owner } = await openBench("acme/echo");
    const text = `It's "quoted" — $HOME \`date\` \\ \${nothing}\n\tsecond line's end 'n' <b>&amp;</b> 🚪`;
    await page.getByLabel("System prompt").fill("Don't\nchange a thing");
    await page.getByLabel("temperature", { exact: true }).fill("0");
    await page.getByLabel("seed", { exact: true }).fill("7");
    await page.getByLabel("frequency_penalty", { exact: true }).fill("-0.5");
    await page.getByLabel("stop", { exact: true }).fill("it's over");
    await composerOf(page).fill(text);
    const dialog = page.getByRole("dialog");
    const codeOf = async (client: string) => {
      await page.getByRole("button", { name: "View as code" }).click();
      await dialog.getByRole("button", { name: client, exact: true }).click();
      await dialog.getByRole("button", { name: "Copy code" }).click();
      await dialog.getByRole("button", { name: "Copied" }).waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      const code = await page.evaluate(() => navigator.clipboard.readText());
      expect(code).not.toContain(owner.key);
      return code;
    };
    const variables = { OSTIARY_API_KEY: owner.key };

    const streamed = await runInShell(await codeOf("curl"), variables);
    expect(saidIn(streamed.stdout)).toBe(text);
    for (const client of ["SDK", "openai"]) {
      const ran = await runModule(await codeOf(client), variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: text });
    }

    await page.getByLabel("Stream the answer").uncheck();
    const whole = await runInShell(await codeOf("curl"), variables);
    expect(JSON.parse(whole.stdout).choices[0].message.content).toBe(text);
    for (const client of ["SDK", "openai"]) {
      const ran = await runModule(await codeOf(client), variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${text}\n` });
    }
  });

  it("is there before anything was said, and runs", async () => {
    const { page, owner } = await openBench("acme/echo");
    await page.getByRole("button", { name: "View as code" }).click();
    const code = await page.getByRole("dialog").getByRole("region", { name: "Code" }).textContent();
    const ran = await runInShell(code ?? "", { OSTIARY_API_KEY: owner.key });
    expect(saidIn(ran.stdout)).toBe("Hello!");
  });
});

describe.skipIf(!hasBrowser)("everyone in the playground", () => {
  it.each(["light", "dark"] as const)(
    "has nothing that axe finds wrong: %s",
    async (colorScheme) => {
      const { page } = await openBench("acme/echo", { colorScheme });
      expect(await violationsOf(page)).toEqual([]);
      await sayAndHear(page, "Hello");
      await page.getByLabel("temperature", { exact: true }).fill("9");
      await say(page, "sandbox:error 429");
      await page.getByRole("button", { name: "Reset temperature" }).click();
      await composerOf(page).press("Enter");
      await page.getByRole("alert").getByText("told to answer 429").waitFor();
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
    const { page } = await openBench("acme/echo", { viewport: { width: 375, height: 800 } });
    await sayAndHear(page, `${"unbreakable".repeat(40)} and a word`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    expect(await violationsOf(page)).toEqual([]);
  });
});

describe("an answer", () => {
  /** What chunks with these deltas add up to. */
  function told(...deltas: readonly object[]): Answer {
    return deltas.reduce<Answer>((answer, delta) => extended(answer, { choices: [{ delta }] }), NO_ANSWER);
  }

  it("has its tool calls put together from their pieces, in their places", () => {
    const piece = (index: number, called: object) => ({ tool_calls: [{ index, function: called }] });
    const { calls } = told(
      piece(0, { name: "open", arguments: '{"do' }),
      piece(1, { name: "close", arguments: "" }),
      piece(0, { arguments: 'or":1}' }),
      piece(1, { arguments: "{}" }),
    );
    expect(calls).toEqual([
      { name: "open", arguments: '{"door":1}' },
      { name: "close", arguments: "{}" },
    ]);
    expect(told(piece(4_000_000_000, { name: "far", arguments: "{}" })).calls).toHaveLength(1);
  });

  it("has its reasoning apart from its text, by either name that servers have for it", () => {
    expect(told({ reasoning_content: "Hm. " }, { reasoning: "So." }, { content: "Yes" })).toMatchObject({
      reasoning: "Hm. So.",
      text: "Yes",
    });
  });

  it("is read from a whole completion as from chunks, and passes over what nobody knows", () => {
    const completion = {
      choices: [{ message: { content: [{ type: "text", text: "Yes" }] }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
      vendor_extra: 1,
    };
    expect(extended(NO_ANSWER, completion)).toEqual({
      text: "Yes",
      reasoning: "",
      calls: [],
      finishReason: "stop",
      usage: { promptTokens: 3, completionTokens: 1 },
    });
    for (const odd of [
      null,
      1,
      [],
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{ delta: 7 }] },
    ]) {
      expect(extended(NO_ANSWER, odd)).toEqual(NO_ANSWER);
    }
  });
});

describe("server-sent events", () => {
  async function dataIn(text: string, size: number): Promise<string[]> {
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const data of eventsOf(body)) found.push(data);
    return found;
  }

  const STREAM =
    ': waiting\n\ndata: {"a":"ü🚪"}\n\nevent: x\nid: 1\ndata:two\ndata: lines\n\n: waiting\n\ndata\n\ndata: last\n\n';
  const DATA = ['{"a":"ü🚪"}', "two\nlines", "", "last"];

  it.each([1, 2, 3, 7, 1_000])(
    "are read alike in chunks of %s bytes, whatever ends their lines",
    async (size) => {
      expect(await dataIn(STREAM, size)).toEqual(DATA);
      expect(await dataIn(STREAM.replaceAll("\n", "\r\n"), size)).toEqual(DATA);
      expect(await dataIn(STREAM.replaceAll("\n", "\r"), size)).toEqual(DATA);
      expect(await dataIn(`\uFEFF${STREAM}`, size)).toEqual(DATA);
    },
  );

  it("count only when they are ended", async () => {
    expect(await dataIn("data: whole\n\ndata: torn", 5)).toEqual(["whole"]);
  });

  it("are not read on for nobody", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: again\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const data of eventsOf(body)) {
      expect(data).toBe("again");
      break;
    }
    expect(cancelled).toBe(true);
  });
});
