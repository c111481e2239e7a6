import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openBrowser, openPage } from "../fixtures/browser.ts";
import { OPERATOR_ENV, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { signInAt } from "./sign-in.ts";

const MOST_SCRIPT_BYTES = 200 * 1_024;

let service: Service;
let browser: Browser;

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startOperatedService(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
});

/** What a page's scripts take on the wire, from an empty cache. */
async function scriptsOf(path: string, email: string | null): Promise<{ bytes: number; names: string[] }> {
  const { page } = await openPage(browser, service.baseUrl);
  if (email !== null) await signInAt(page, { email });
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
    const { email, key } = await signUpWithKey(service.baseUrl);
    await fetch(`${service.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    for (const path of ["/", "/audit", "/playground", "/models", "/settings/keys"]) {
      const { bytes } = await scriptsOf(path, email);
      expect(bytes, path).toBeGreaterThan(50_000);
      expect(bytes, path).toBeLessThan(MOST_SCRIPT_BYTES);
    }
  });

  it("brings an account's owner nothing of the operator console", async () => {
    const { email } = await signUpWithKey(service.baseUrl);
    const { names } = await scriptsOf("/operator", email);
    expect(names.filter((name) => name.includes("/assets/console"))).toEqual([]);
    const { page } = await openPage(browser, service.baseUrl);
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
