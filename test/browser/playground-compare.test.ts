import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { composerOf, figureOf, modelOn, openPlaygroundSite, say } from "./playground-site.ts";

const playground = openPlaygroundSite();

/** The column of a model. */
function columnOf(page: Page, model: string) {
  return page.getByRole("region", { name: new RegExp(`Model \\d: ${model}$`) });
}

describe.skipIf(!hasBrowser)("models side by side", () => {
  it("answer one question, each with its cost, and continue together or one by one", async () => {
    const { page, complaints } = await playground.openPlayground("acme/echo");
    await page.getByRole("button", { name: "Compare with another model" }).click();
    await page.getByRole("button", { name: "Compare with another model" }).click();
    await say(page, "One question");
    for (const model of ["acme/echo", "acme/talker", "acme/lorem"]) {
      const answer = columnOf(page, model).locator(".Message_message").nth(1);
      await figureOf(answer, "Cost").filter({ hasText: "$" }).waitFor();
      expect(await figureOf(answer, "Total time").count()).toBe(1);
    }
    expect(await violationsOf(page)).toEqual([]);

    await page.getByLabel("Send to").selectOption("To acme/talker");
    await say(page, "Only you");
    const talker = columnOf(page, "acme/talker").locator(".Message_message");
    await figureOf(talker.nth(3), "Cost").filter({ hasText: "$" }).waitFor();
    expect(await columnOf(page, "acme/echo").locator(".Message_message").count()).toBe(2);

    await page.getByRole("button", { name: "Keep only this: acme/talker" }).click();
    await expect.poll(() => page.locator(".Message_message").count()).toBe(4);
    await expect.poll(() => modelOn(page)).toBe("acme/talker");
    await expect.poll(() => new URL(page.url()).searchParams.get("model")).toBe("acme/talker");
    expect(complaints).toEqual([]);
  });

  it("are stopped together, and a further one gets the same question", async () => {
    const { page } = await playground.openPlayground("acme/talker");
    void playground.heldStream({ content: "endless" });
    await say(page, "Go on");
    await page.getByText("endless").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.", { exact: true }).last().waitFor();
    await page.getByRole("button", { name: "Compare with another model" }).click();
    const further = columnOf(page, "acme/echo");
    await further.getByRole("button", { name: "Get an answer" }).click();
    await figureOf(further.locator(".Message_message").nth(1), "Cost").filter({ hasText: "$" }).waitFor();

    void playground.heldStream({ content: "again" });
    await composerOf(page).fill("More");
    await composerOf(page).press("Enter");
    await columnOf(page, "acme/talker").getByText("again").waitFor();
    await page.getByRole("button", { name: "Stop all" }).click();
    await columnOf(page, "acme/talker").getByText("Stopped.").last().waitFor();
  });

  it("need no sideways scrolling of the page on a phone", async () => {
    const { page } = await playground.openPlayground("acme/echo", { viewport: { width: 375, height: 800 } });
    await page.locator("summary", { hasText: "Request" }).click();
    await page.getByRole("button", { name: "Compare with another model" }).click();
    await say(page, "Hello");
    await figureOf(columnOf(page, "acme/echo").locator(".Message_message").nth(1), "Cost")
      .filter({ hasText: "$" })
      .waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    expect(await violationsOf(page)).toEqual([]);
  });
});
