import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { toastOf } from "../fixtures/menu.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("code in the dashboard", () => {
  it.each(["light", "dark"] as const)(
    "has colours that can be read, under the content policy: %s",
    async (colorScheme) => {
      const owner = await signUpWithKey(site.service.baseUrl);
      const { page, complaints } = await site.open(owner, "/models/sandbox%2Fecho", { colorScheme });
      const code = page.getByRole("region", { name: "Code" });
      await code.locator("span", { hasText: "application/json" }).first().waitFor();
      const colours = () =>
        code
          .locator("span")
          .evaluateAll((tokens) => new Set(tokens.map((token) => getComputedStyle(token).color)).size);
      expect(await colours()).toBeGreaterThan(1);
      await page
        .getByRole("radio", { name: "openai" })
        .or(page.getByRole("button", { name: "openai" }))
        .click();
      await code.locator("span", { hasText: "import" }).first().waitFor();
      expect(await colours()).toBeGreaterThan(2);
      expect(await violationsOf(page)).toEqual([]);
      await page.getByRole("button", { name: "Copy code" }).click();
      await toastOf(page, "Copied code").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(await code.textContent()).toBe(copied);
      expect(complaints).toEqual([]);
    },
  );

  it("is copied on pages that have no clipboard, as those loaded over HTTP from another machine", async () => {
    const { page } = await site.page();
    await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await signInBy(page, await signUpWithKey(site.service.baseUrl));
    await page.goto("/models/sandbox%2Fecho");
    await page.getByRole("button", { name: "Copy sandbox/echo" }).click();
    await toastOf(page, "Copied sandbox/echo").waitFor();
    await page.keyboard.press("Control+k");
    const search = page.getByRole("combobox", { name: "Search everything" });
    await search.fill("");
    await page.keyboard.press("Control+v");
    expect(await search.inputValue()).toBe("sandbox/echo");
  });

  it("can be read and copied without the code that finds its colours", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { page } = await site.open(owner, "/settings/keys");
    await page.route(/\/assets\/ColouredCode/, (route) => route.abort());
    await page.goto("/models/sandbox%2Fecho");
    await page.getByRole("region", { name: "Code" }).getByText("curl").waitFor();
    expect(await page.getByRole("region", { name: "Code" }).locator("span").count()).toBe(0);
  });
});
