// How pages look: each picture is compared with one that someone approved. All pictures, at each width and in both themes, are left in
// test-results/looks.
// After an intended change: OSTIARY_APPROVE_LOOKS=1 npx vitest run test/browser/looks.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { differenceOf, picturesIn, takePicture } from "../fixtures/looks.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, signUpWithKey, type Visitor } from "../fixtures/user.ts";

const NONE: readonly string[] = [];
const OPEN = ["/sign-in", "/sign-up"];
const ACCOUNT = [
  "/",
  "/playground",
  "/models",
  "/connect",
  "/audit",
  "/settings/keys",
  "/settings/tokens",
  "/settings/credits",
  "/settings/account",
  "/nowhere",
];
const OPERATOR = [
  "/operator",
  "/operator/usage",
  "/operator/upstreams",
  "/operator/catalog",
  "/operator/security",
  "/operator/trail",
  "/settings/sign-in",
];
/** Pages of what an account has, or that show what the moment brings: their pictures are taken, but compared with none. */
const ACCOUNT_DETAILS: readonly string[] = [
  "/settings/keys/:key",
  "/settings/keys/:key/rotation",
  "/models/openai%2Fgpt",
];
const OPERATOR_DETAILS: readonly string[] = [
  "/operator/log",
  "/operator/status",
  "/operator/connect",
  "/operator/accounts/:account",
];
const SCHEMES = ["light", "dark"] as const;
/** Pictures of this width are compared. */
const WIDTH = 1_440;
const OTHER_WIDTHS = [375, 1_920];
const HEIGHT = 900;

let catalog: CatalogFile;
let owner: Owner & { readonly key: string; readonly id: string };
let operator: Visitor;
/** What stands for the names in paths. */
let ids: Readonly<Record<string, string>>;

const site = openSite(async () => {
  const model = (id: string, inputUsdPerMTok: string, outputUsdPerMTok: string) => ({
    id,
    contextTokens: 200_000,
    maxOutputTokens: 32_000,
    prices: { inputUsdPerMTok, outputUsdPerMTok },
    routes: [{ upstream: "sandbox", model: "echo" }],
  });
  catalog = await writeCatalog({
    upstreams: { sandbox: { dialect: "sandbox" } },
    models: [
      model("anthropic/claude-sonnet", "3.00", "15.00"),
      model("google/gemini-pro", "1.25", "10.00"),
      model("mistral/large", "2.00", "6.00"),
      model("openai/gpt", "2.50", "10.00"),
    ],
  });
  return startOperatedService({ env: { OSTIARY_CATALOG: catalog.file } });
});

beforeAll(async () => {
  if (!hasBrowser) return;
  operator = await signInOperator(site.service.baseUrl);
  owner = await signUpWithKey(site.service.baseUrl);
  for (const name of ["production", "staging"]) await owner.trpc.keys.create.mutate({ name });
  await owner.trpc.tokens.create.mutate({ name: "rotation" });
  for (const model of ["openai/gpt", "openai/gpt", "anthropic/claude-sonnet", "mistral/large", "no/such"]) {
    await sendChat(site.service.baseUrl, owner.key, {
      model,
      messages: [{ role: "user", content: "Say hello." }],
    });
  }
});

beforeAll(async () => {
  if (!hasBrowser) return;
  ids = { ":key": owner.id, ":account": (await owner.trpc.account.get.query()).id };
});

afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
});

const VISITORS = [
  { name: "open", paths: OPEN, details: NONE, who: () => null },
  { name: "account", paths: ACCOUNT, details: ACCOUNT_DETAILS, who: () => owner },
  { name: "operator", paths: OPERATOR, details: OPERATOR_DETAILS, who: () => operator },
];

/** The name of a page's picture: `account-settings-keys-dark`. */
function pictureOf(name: string, path: string, colorScheme: string): string {
  const words = path.replaceAll(":", "").replaceAll("%2F", "-");
  return `${name}${words.replaceAll("/", "-").replace(/-$/, "-start")}-${colorScheme}`;
}

async function show(page: Page, path: string): Promise<void> {
  await page.setViewportSize({ width: WIDTH, height: HEIGHT });
  await page.goto(path.replace(/:\w+/, (id) => ids[id] ?? ""));
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The name of the service arrives by itself.
  await page.getByText("Ostiary", { exact: true }).first().waitFor();
  await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
}

/** Takes the pictures of the page that is shown, in one theme. @returns how it differs from the one that was approved, if it does. */
async function takePictures(page: Page, picture: string, isCompared: boolean): Promise<readonly string[]> {
  await page.setViewportSize({ width: WIDTH, height: HEIGHT });
  const difference = isCompared ? await differenceOf(page, picture) : null;
  if (!isCompared) await takePicture(page, picture);
  for (const width of OTHER_WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    await takePicture(page, `${picture}-${width}`);
  }
  const taken = ["", ...OTHER_WIDTHS.map((width) => `-${width}`)].map((width) => picture + width);
  expect(picturesIn().filter((file) => taken.includes(file))).toHaveLength(taken.length);
  return difference === null ? [] : [difference];
}

describe.skipIf(!hasBrowser).each(VISITORS)("the pages of $name", ({ name, paths, details, who }) => {
  it("look as they were approved, and leave their pictures", async () => {
    // The page's own policy allows no style that is put into it.
    const { page } = await site.page({ bypassCSP: true });
    const visitor = who();
    if (visitor !== null) await signInBy(page, visitor);
    const differences: string[] = [];
    for (const path of [...paths, ...details]) {
      await show(page, path);
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const picture = pictureOf(name, path, colorScheme);
        differences.push(...(await takePictures(page, picture, paths.includes(path))));
      }
    }
    expect(differences).toEqual([]);
  }, 480_000);
});
