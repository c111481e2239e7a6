import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { OPERATOR_ENV, startOperatedService } from "../fixtures/operator.ts";
import { goToKeys, openSite } from "../fixtures/site.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

const MOST_SCRIPT_BYTES = 200 * 1_024;

const site = openSite(startOperatedService);

/** What a page's scripts take on the wire, from an empty cache. */
async function scriptsOf(path: string, visitor: Visitor | null): Promise<{ bytes: number; names: string[] }> {
  const { page } = await site.page();
  if (visitor !== null) await goToKeys(page, visitor);
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.clearBrowserCache");
  const scripts = new Map<string, string>();
  let bytes = 0;
  network.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.mimeType === "text/javascript") scripts.set(requestId, new URL(response.url).pathname);
  });
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) bytes += encodedDataLength;
  });
  await page.goto(path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  return { bytes, names: [...scripts.values()] };
}

describe.skipIf(!hasBrowser)("the first load", () => {
  it("takes less than 200 KB of script, on every page of an account", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await fetch(`${site.service.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${owner.key}` } });
    for (const path of ["/", "/audit", "/playground", "/models", "/settings/keys"]) {
      const { bytes } = await scriptsOf(path, owner);
      expect(bytes, path).toBeGreaterThan(50_000);
      expect(bytes, path).toBeLessThan(MOST_SCRIPT_BYTES);
    }
  });

  it("brings an account's owner nothing of the operator console", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const { names } = await scriptsOf("/operator", owner);
    expect(names.filter((name) => name.includes("/assets/console"))).toEqual([]);
    const { page } = await site.page();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto("/sign-in");
    await page.getByLabel("E-mail").fill(OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL);
    await page.getByLabel("Password", { exact: true }).fill(OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Accounts", exact: true }).waitFor();
    expect(asked.filter((url) => /\/assets\/console[^/]*\.js$/.test(url))).toHaveLength(1);
  });
});
