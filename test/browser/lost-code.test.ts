import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { answerInStream, messageOn, openPlaygroundSite, say, sayAndHear } from "./playground-site.ts";

const playground = openPlaygroundSite();

/** Loses the code and style of a part, as a network does that is gone. @returns what was asked for, and what ends the loss. */
async function loseCode(page: Page, name: string) {
  const code = new RegExp(`/assets/${name}-[^/]*\\.js$`);
  const style = new RegExp(`/assets/${name}-[^/]*\\.css$`);
  const lost = { requests: 0, styles: new Set<string>(), heal: () => page.unrouteAll() };
  await page.route("**/*", (route) => {
    const { pathname } = new URL(route.request().url());
    if (code.test(pathname)) lost.requests++;
    if (style.test(pathname)) lost.styles.add(pathname);
    return code.test(pathname) ||
      style.test(pathname) ||
      pathname === "/" ||
      pathname.includes("service.info")
      ? route.abort()
      : route.fallback();
  });
  return lost;
}

/** The paths of the style sheets that a page has loaded. */
function stylesOf(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.styleSheets].map(({ href }) => (href === null ? "" : new URL(href).pathname)),
  );
}

const PARTS = [
  {
    code: "SchemaDialog",
    open: async (page: Page) => {
      await page.getByLabel("Output").selectOption("JSON with a schema");
      await page.getByRole("button", { name: "Edit schema" }).click();
    },
    shown: (page: Page) => page.getByRole("heading", { name: "Schema of the answer" }),
  },
  {
    code: "ToolDialog",
    open: (page: Page) => page.getByRole("button", { name: "Add a tool" }).click(),
    shown: (page: Page) => page.getByRole("dialog").getByRole("textbox", { name: "Name" }),
  },
  {
    code: "ViewAs",
    open: (page: Page) => page.getByRole("button", { name: "View as code" }).click(),
    shown: (page: Page) => page.getByRole("heading", { name: "Request as code" }),
  },
  {
    code: "ShareDialog",
    open: (page: Page) => page.getByRole("button", { name: "Share" }).click(),
    shown: (page: Page) => page.getByRole("heading", { name: "Share as link" }),
  },
  {
    code: "HistoryDialog",
    open: (page: Page) => page.getByRole("button", { name: "History" }).click(),
    shown: (page: Page) => page.getByRole("heading", { name: "History" }),
  },
  {
    code: "ParameterFields",
    open: (page: Page) => page.locator("summary", { hasText: "Parameters" }).click(),
    shown: (page: Page) => page.getByLabel("Stream the answer"),
  },
  {
    code: "Conversation",
    open: (page: Page) => say(page, "Hello"),
    shown: (page: Page) => messageOn(page, 1),
  },
];

describe.skipIf(!hasBrowser)("a part of the playground whose code can't be loaded", () => {
  it.each(PARTS)(
    "fails in its place, is tried again on request, and heals: $code",
    async ({ code, open, shown }) => {
      const { page } = await playground.openPlayground();
      const lost = await loseCode(page, code);
      await open(page);
      const again = page.getByRole("button", { name: "Try again" });
      await again.waitFor();
      await page.getByRole("alert").getByText("can't be reached").waitFor();
      const requests = lost.requests;
      await again.click();
      await expect.poll(() => lost.requests).toBeGreaterThan(requests);
      expect(
        await page.getByRole("heading", { name: "Playground", level: 1, includeHidden: true }).count(),
      ).toBe(1);
      await lost.heal();
      await shown(page).waitFor();
      expect(await stylesOf(page)).toEqual(expect.arrayContaining([...lost.styles]));
    },
  );

  it("is asked for once more where the service answers, as the network may have come back in between", async () => {
    const { page } = await playground.openPlayground();
    await page.route(/\/assets\/ShareDialog-[^/]*\.js$/, (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("heading", { name: "Share as link" }).waitFor();
  });

  it("asks for a reload where the service answers and the part stays away", async () => {
    const { page } = await playground.openPlayground();
    await page.route(/\/assets\/ShareDialog-[^/]*\.js$/, (route) => route.abort());
    await page.getByRole("button", { name: "Share" }).click();
    const dialog = page.getByRole("dialog", { name: "This could not be loaded" });
    await dialog.getByRole("alert").getByText("Reload to try again.").waitFor();
    await dialog.getByRole("button", { name: "Reload" }).waitFor();
  });

  it("does not keep other parts away where its style sheet stays lost, or gets no answer", async () => {
    const { page } = await playground.openPlayground();
    let asked = 0;
    await page.route(/\/assets\/HistoryDialog-[^/]*\.css$/, (route) => {
      asked++;
      // By the import, and once more on its own.
      return asked <= 2 ? route.abort() : undefined;
    });
    await page.getByRole("button", { name: "History" }).click();
    const failed = page.getByRole("dialog", { name: "This could not be loaded" });
    await failed.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("heading", { name: "Share as link" }).waitFor();
    await expect.poll(() => asked).toBe(3);
  });

  it("leaves an answer as the model wrote it, until the service is reached again", async () => {
    const { page } = await playground.openPlayground();
    playground.answerWith((request) => answerInStream(request, ["Some **bold** text"]));
    const lost = await loseCode(page, "Markdown");
    await sayAndHear(page, "Hello");
    await messageOn(page, 2).getByText("Some **bold** text").waitFor();
    await lost.heal();
    await messageOn(page, 2).locator("strong", { hasText: "bold" }).waitFor();
  });

  it("leaves the address of a shared chat as it is, for a reload", async () => {
    const { page } = await playground.openPlayground();
    await page.getByRole("button", { name: "Share" }).click();
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue();
    await loseCode(page, "share");
    await page.goto("/models");
    await page.goto(link);
    await page.getByText("could not be opened. Reload to try again.").waitFor();
    expect(page.url()).toBe(link);
  });
});
