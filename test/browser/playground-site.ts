import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeEach } from "vitest";
import type { WatchedPage } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import {
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { startService } from "../fixtures/service.ts";
import { openSite, type Site } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const USAGE = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };
/** The cost of that usage, by the prices of the catalog below. */
export const CHARGED = "$0.0018";

export interface OpenPlayground extends WatchedPage {
  readonly owner: Awaited<ReturnType<typeof signUpWithKey>>;
}

/** A service with models whose answers a test decides, and its playground. */
export interface PlaygroundSite {
  readonly site: Site;
  readonly models: ModelServer;
  /** Has the model's server answer requests like this from now on, until the test has ended. */
  answerWith(answer: (request: ReceivedRequest) => void): void;
  /** Has the model's server begin a stream with these deltas. Resolves with the response to which the test writes the rest. */
  heldStream(...deltas: readonly object[]): Promise<ReceivedRequest["response"]>;
  openPlayground(model?: string, options?: BrowserContextOptions): Promise<OpenPlayground>;
  /** What the model's server was sent last. */
  lastBody(): Record<string, unknown>;
}

/** Starts the service before the first of a file's tests, and ends it after the last. */
export function openPlaygroundSite(): PlaygroundSite {
  let models: ModelServer;
  let catalog: CatalogFile;
  let answer: (request: ReceivedRequest) => void;

  const site = openSite(async () => {
    models = await startModelServer((request) => answer(request));
    const prices = { inputUsdPerMTok: "1", outputUsdPerMTok: "4" };
    catalog = await writeCatalog({
      upstreams: { afar: { dialect: "openai", baseUrl: models.baseUrl }, sandbox: { dialect: "sandbox" } },
      models: [
        {
          id: "acme/talker",
          aliases: ["talker"],
          modalities: { input: ["text", "image", "file"], output: ["text"] },
          prices,
          routes: [{ upstream: "afar", model: "inner" }],
        },
        {
          id: "acme/echo",
          modalities: { input: ["text", "image", "file"], output: ["text"] },
          prices,
          routes: [{ upstream: "sandbox", model: "echo" }],
        },
        { id: "acme/lorem", routes: [{ upstream: "sandbox", model: "lorem" }] },
        ...(["image", "audio"] as const).map((produced) => ({
          id: `acme/${produced}`,
          modalities: { input: ["text"], output: ["text", produced] },
          prices,
          routes: [{ upstream: "afar", model: "inner" }],
        })),
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

  async function openPlayground(
    model = "acme/talker",
    options: BrowserContextOptions = {},
  ): Promise<OpenPlayground> {
    const owner = await signUpWithKey(site.service.baseUrl);
    const watched = await site.open(owner, `/playground?model=${model}`, options);
    await watched.page.getByRole("heading", { name: "Conversation" }).waitFor();
    return { ...watched, owner };
  }

  function lastBody(): Record<string, unknown> {
    return models.received.at(-1)?.body ?? {};
  }

  return {
    site,
    get models() {
      return models;
    },
    answerWith: (wanted) => {
      answer = wanted;
    },
    heldStream,
    openPlayground,
    lastBody,
  };
}

/** A complete stream with these pieces of text. */
export function answerInStream({ response }: ReceivedRequest, pieces: readonly string[]): void {
  response.setHeader("content-type", "text/event-stream");
  for (const content of pieces) response.write(chunkOf({ content }));
  endStream(response);
}

export function endStream(response: ReceivedRequest["response"]): void {
  response.write(chunkOf({}, "stop"));
  response.end(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
}

export function composerOf(page: Page): Locator {
  return page.getByRole("textbox", { name: "Message", exact: true });
}

export async function openParameters(page: Page): Promise<void> {
  await page.locator("summary", { hasText: "Parameters" }).click();
  await page.getByLabel("Stream the answer").waitFor();
}

export async function modelOn(page: Page): Promise<string | null> {
  return page.getByRole("combobox", { name: "Model" }).textContent();
}

export async function say(page: Page, text: string): Promise<void> {
  await composerOf(page).fill(text);
  await composerOf(page).press("Enter");
}

/** The message at a place from 1 on. */
export function messageOn(page: Page, number: number): Locator {
  return page.locator(".Message_message").nth(number - 1);
}

/** Sends a message and waits for its cost. */
export async function sayAndHear(page: Page, text: string): Promise<void> {
  const before = await page.locator(".Message_message").count();
  await say(page, text);
  await figureOf(messageOn(page, before + 2), "Cost")
    .filter({ hasText: "$" })
    .waitFor();
}

export function figureOf(message: Locator, name: string): Locator {
  return message
    .locator(".AnswerFigures_answerFigures > div")
    .filter({ has: message.page().getByText(name, { exact: true }) })
    .getByRole("definition");
}

/** The text of a stream that curl has printed. */
export function saidIn(stream: string): string {
  const events = stream.split("\n\n").filter((event) => event.startsWith("data: {"));
  return events.map((event) => JSON.parse(event.slice("data: ".length)).choices[0]?.delta.content).join("");
}

export function withoutHttpErrors({ complaints }: WatchedPage): readonly string[] {
  // Chromium logs by itself that an answer was no success.
  return complaints.filter((text) => !text.startsWith("Failed to load resource"));
}
