// How long the dashboard takes until one can use it, from a cold cache: a new browser context, a service on this machine.
import { openBrowser, openPage } from "../fixtures/browser.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { report, summary } from "./measure.ts";

const ROUNDS = 7;
const PAGES = [
  { path: "/sign-in", ready: "Sign in" },
  { path: "/", ready: "Overview" },
  { path: "/audit", ready: "Request log" },
  { path: "/settings/keys", ready: "API keys" },
];

await using service = await startService();
const owner = await signUpWithKey(service.baseUrl);
await fetch(`${service.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${owner.key}` } });
const browser = await openBrowser();
try {
  for (const { path, ready } of PAGES) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { page } = await openPage(browser, service.baseUrl);
      await page.context().addCookies(
        owner
          .cookie()
          .split("; ")
          .map((pair) => {
            const [name = "", value = ""] = pair.split("=");
            return { name, value, url: service.baseUrl };
          }),
      );
      if (path === "/sign-in") await page.context().clearCookies();
      const begun = performance.now();
      await page.goto(path, { waitUntil: "commit" });
      await page.getByRole("heading", { level: 1, name: ready }).waitFor();
      await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
      times.push(performance.now() - begun);
      await page.context().close();
    }
    report(`cold cache until ${path} is there`, "ms", summary(times, 0));
  }
} finally {
  await browser.close();
}
