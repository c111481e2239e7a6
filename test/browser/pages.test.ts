// What holds of every page, whatever is on it.
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { colourViolationsOf, violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { signOut } from "../fixtures/menu.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { openKeys, openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, signUp, signUpWithKey, type Visitor } from "../fixtures/user.ts";

interface PageUnderTest {
  readonly path: string;
  /** Its heading. */
  readonly title: string;
}

const OPEN: readonly PageUnderTest[] = [
  { path: "/sign-in", title: "Sign in" },
  { path: "/sign-up", title: "Create an account" },
];
const ACCOUNT: readonly PageUnderTest[] = [
  { path: "/", title: "Overview" },
  { path: "/playground", title: "Playground" },
  { path: "/models", title: "Models" },
  { path: "/connect", title: "Quickstart" },
  { path: "/audit", title: "Request log" },
  { path: "/settings/keys", title: "API keys" },
  { path: "/settings/tokens", title: "Management tokens" },
  { path: "/settings/credits", title: "Credits" },
  { path: "/settings/account", title: "Account" },
];
/** Pages of what only an account in use has. `:key` is the id of its key, `:account` its own. */
const DETAILS: readonly PageUnderTest[] = [
  { path: "/settings/keys/:key", title: "test" },
  { path: "/settings/keys/:key/rotation", title: "Rotate “test”" },
  { path: "/models/sandbox%2Fecho", title: "sandbox/echo" },
];
const OPERATOR: readonly PageUnderTest[] = [
  { path: "/operator", title: "Accounts" },
  { path: "/operator/accounts/:account?tab=log", title: "Test" },
  { path: "/operator/usage", title: "Usage" },
  { path: "/operator/log", title: "Request log" },
  { path: "/operator/status", title: "Status" },
  { path: "/operator/upstreams", title: "Upstreams" },
  { path: "/operator/catalog", title: "Catalog" },
  { path: "/operator/connect", title: "Connect a provider" },
  { path: "/operator/security", title: "Security events" },
  { path: "/operator/trail", title: "Audit trail" },
  { path: "/settings/tokens", title: "Management tokens" },
  { path: "/settings/sign-in", title: "Security" },
];
const WIDTH = 1_280;
const HEIGHT = 900;
/** The smallest phones, and a page of 1280 pixels that is enlarged to 400 %. */
const PHONE = 320;
/** Tablets, upright and lying, and screens. */
const WIDER = [768, 1_024, WIDTH, 1_440, 1_920];

let owner: Owner;
let keyId: string;
let accountId: string;
let operator: Visitor;

const site = openSite(startOperatedService);

beforeAll(async () => {
  if (!hasBrowser) return;
  operator = await signInOperator(site.service.baseUrl);
  const busy = await signUpWithKey(site.service.baseUrl);
  for (const model of ["sandbox/echo", "sandbox/lorem", `no/such-model-${"x".repeat(60)}`]) {
    await sendChat(site.service.baseUrl, busy.key, {
      model,
      messages: [{ role: "user", content: "hello" }],
      max_tokens: 20,
    });
  }
  await busy.trpc.tokens.create.mutate({ name: "script" });
  accountId = (await busy.trpc.account.get.query()).id;
  keyId = (await busy.trpc.keys.list.query()).keys[0]?.id ?? "";
  const { id: revoked } = await busy.trpc.keys.create.mutate({ name: "x".repeat(64) });
  await busy.trpc.keys.revoke.mutate({ id: revoked });
  const { id: used } = await busy.trpc.keys.create.mutate({ name: "y".repeat(64) });
  await using sql = await openDatabaseOf(site.service);
  await sql`
    insert into key_usage (key, requests, last_used_at, last_used_ip)
    values (${used}, 2, now(), '2001:db8:85a3:1234:5678:8a2e:370:7334')`;
  await sql`
    insert into key_addresses (key, source_ip, last_seen_at)
    values (${used}, '2001:db8:85a3:1234:5678:8a2e:370:7334', now()), (${used}, '192.0.2.7', now())`;
  owner = busy;
});

async function show(page: Page, { path, title }: PageUnderTest): Promise<void> {
  await page.goto(path.replace(":key", keyId).replace(":account", accountId));
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  // Nothing is still on its way.
  await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
}

/** By how many pixels a page is wider than its window, or a part of it than its place, once what measures itself has been drawn again. */
function overflowOf(page: Page, parts = "main > *, .DataTable_tableFrame"): Promise<number> {
  return page.evaluate(async (parts) => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const frames = [document.documentElement, ...document.querySelectorAll(parts)];
    // What only screen readers get is one pixel wide.
    const seen = frames.filter((frame) => frame.clientWidth > 1);
    return Math.max(...seen.map((frame) => frame.scrollWidth - frame.clientWidth));
  }, parts);
}

const VISITORS = [
  { name: "nobody", pages: OPEN, who: () => null },
  { name: "an owner", pages: [...ACCOUNT, ...DETAILS], who: () => owner },
  { name: "the owner of an empty account", pages: ACCOUNT, who: () => signUp(site.service.baseUrl) },
  { name: "an operator", pages: OPERATOR, who: () => operator },
];

/** Changes the theme, and waits until colours have passed into each other. */
async function changeTheme(page: Page, colorScheme: "dark" | "light"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(transitions.map(({ finished }) => finished));
  });
}

/** Sets the size of text in the browser's settings. */
async function setTextSize(page: Page, px: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setFontSizes", { fontSizes: { standard: px, fixed: px } });
  await session.detach();
}

/**
 * What is wrong with a page that is shown in the dark theme: there, in the light one, on a phone, and where it is wider than its window,
 * also when text has twice its size.
 */
async function* faultsOf(page: Page): AsyncGenerator<readonly [place: string, faults: readonly string[]]> {
  yield ["in the dark theme", await violationsOf(page)];
  await changeTheme(page, "light");
  yield ["in the light theme", await colourViolationsOf(page)];
  for (const width of [PHONE, ...WIDER]) {
    await page.setViewportSize({ width, height: HEIGHT });
    if (width === PHONE) yield ["on a phone", await violationsOf(page)];
    const beyond = await overflowOf(page);
    yield [`at ${width}`, beyond > 0 ? [`${beyond} px beyond`] : []];
  }
  await setTextSize(page, 32);
  for (const width of [WIDTH, PHONE]) {
    await page.setViewportSize({ width, height: HEIGHT });
    // On a phone, a table may be scrolled sideways then, but not the page.
    const beyond = await overflowOf(page, width === PHONE ? "main" : undefined);
    yield [`with text of 200 % at ${width}`, beyond > 0 ? [`${beyond} px beyond`] : []];
  }
  await setTextSize(page, 16);
}

describe.skipIf(!hasBrowser).each(VISITORS)("every page of $name", ({ pages, who }) => {
  it("has nothing that axe finds wrong, fits phones, tablets and wide screens, and complains of nothing", async () => {
    const { page, complaints } = await site.page();
    const visitor = await who();
    if (visitor !== null) await signInBy(page, visitor);
    const wrong: Record<string, unknown> = {};
    for (const under of pages) {
      await page.setViewportSize({ width: WIDTH, height: HEIGHT });
      await page.emulateMedia({ colorScheme: "dark" });
      await show(page, under);
      for await (const [place, faults] of faultsOf(page)) {
        if (faults.length > 0) wrong[`${under.path} ${place}`] = faults;
      }
    }
    expect(wrong).toEqual({});
    expect(complaints).toEqual([]);
  }, 240_000);
});

/** The texts of elements that are on several lines. A text ends where its author allows a break. */
function brokenTextsIn(elements: Locator): Promise<string[]> {
  return elements.evaluateAll((all) =>
    all.flatMap((element) => {
      const texts: string[] = [];
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const lines = new Set([...range.getClientRects()].map(({ y }) => Math.round(y)));
        if (lines.size > 1) texts.push(node.textContent ?? "");
      }
      return texts;
    }),
  );
}

/** The colours of a canvas, as styles write them. */
function coloursOf(canvas: SVGElement | HTMLElement): string[] {
  if (!(canvas instanceof HTMLCanvasElement)) return [];
  const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
  const colours = new Set<string>();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] === 255) colours.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
  }
  return [...colours];
}

describe.skipIf(!hasBrowser)("a page", () => {
  it("is named in the browser's tab", async () => {
    const page = await openKeys(site, await signUpWithKey(site.service.baseUrl));
    await expect.poll(() => page.title()).toBe("API keys · Ostiary");
    await page.getByRole("link", { name: "Request log" }).click();
    await expect.poll(() => page.title()).toBe("Request log · Ostiary");
    await signOut(page);
    await expect.poll(() => page.title()).toBe("Sign in · Ostiary");
  });

  it("shows what is chosen, and the series of its charts, in the colours of the system, too", async () => {
    const { page } = await site.page({ forcedColors: "active" });
    await signInBy(page, owner);
    await page.goto("/?by=model");
    const legend = page.locator(".ChartLegend_chartSwatch").first();
    await legend.waitFor();
    const ringOf = (element: Locator) => element.evaluate((one) => getComputedStyle(one).outlineStyle);
    const part = (name: string) => page.getByRole("button", { name, exact: true });
    const link = (name: string) => page.getByRole("navigation").getByRole("link", { name, exact: true });
    expect([await ringOf(part("By model")), await ringOf(part("By key"))]).toEqual(["solid", "none"]);
    expect([await ringOf(link("Overview")), await ringOf(link("Models"))]).toEqual(["solid", "none"]);
    const colour = await legend.evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
    const drawn = await page.locator("canvas").first().evaluate(coloursOf);
    expect(drawn).toContain(colour);
    await page.keyboard.press("Control+k");
    const first = page.getByRole("option").first();
    await first.waitFor();
    expect([await ringOf(first), await ringOf(page.getByRole("option").nth(1))]).toEqual(["solid", "none"]);
    await signInBy(page, operator);
    await page.goto(`/operator/accounts/${accountId}?tab=keys`);
    const tab = (name: string) => page.locator("main").getByRole("link", { name, exact: true });
    await tab("Keys").waitFor();
    expect([await ringOf(tab("Keys")), await ringOf(tab("Overview"))]).toEqual(["solid", "none"]);
  });

  it("gives times and names space in a small window, also beside a long name", async () => {
    const linesOf = (element: Locator) =>
      element.evaluate((one) =>
        Math.round(one.clientHeight / Number.parseFloat(getComputedStyle(one).lineHeight)),
      );
    const { page } = await site.page();
    await page.setViewportSize({ width: 1_024, height: HEIGHT });
    await signInBy(page, owner);
    await page.goto("/settings/keys");
    expect(await linesOf(page.locator(".KeyTable_lastUse time").first())).toBe(1);
    await signInBy(page, operator);
    await page.goto("/operator");
    const account = page.getByRole("table", { name: "Accounts" }).getByRole("rowheader").first();
    expect(await linesOf(account.locator(".text_small"))).toBeLessThan(4);
  });

  it("fits a phone also where its address names something long that does not exist", async () => {
    const { page } = await site.page();
    await page.setViewportSize({ width: PHONE, height: HEIGHT });
    const long = "x".repeat(120);
    const beyond: Record<string, number> = {};
    const measure = async (path: string) => {
      await page.goto(path);
      await page.getByText(long).locator("visible=true").first().waitFor();
      beyond[path.replace(long, "long")] = await overflowOf(page);
    };
    await signInBy(page, owner);
    await measure(`/playground?model=${long}`);
    await measure(`/models/${long}`);
    await signInBy(page, operator);
    await measure(`/operator/security?accountId=${long}`);
    expect(beyond).toEqual({
      "/playground?model=long": 0,
      "/models/long": 0,
      "/operator/security?accountId=long": 0,
    });
  });

  it("breaks times and addresses of e-mail on a tablet only where a reader expects it", async () => {
    const { page } = await site.page();
    await page.setViewportSize({ width: 768, height: HEIGHT });
    await signInBy(page, operator);
    const times = page.locator("tbody time").locator("visible=true");
    for (const path of ["/operator/trail", "/operator"]) {
      await page.goto(path);
      await times.first().waitFor();
      expect(await brokenTextsIn(times), path).toEqual([]);
    }
    await page.goto("/operator/security");
    const address = page.getByRole("cell").getByText("operator@example.com", { exact: true }).first();
    await address.waitFor();
    expect(await brokenTextsIn(times.or(address))).toEqual([]);
  });

  it("is light or dark as the system is, or as its root says", async () => {
    const { page } = await site.page({ colorScheme: "dark" });
    await page.goto("/sign-in");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.evaluate(() => {
      document.documentElement.dataset.theme = "light";
    });
    expect(await ground()).not.toBe(dark);
  });
});
