// How pages look: each picture is compared with one that someone approved. All pictures are left in test-results/looks.
// After an intended change: OSTIARY_APPROVE_LOOKS=1 npx vitest run test/browser/looks.test.ts
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { differenceOf } from "../fixtures/looks.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { type Owner, signUpWithKey, type Visitor } from "../fixtures/user.ts";

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
const SCHEMES = ["light", "dark"] as const;

let catalog: CatalogFile;
let owner: Owner & { readonly key: string };
let operator: Visitor;

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
    await fetch(`${site.service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }] }),
    });
  }
});

afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
});

const VISITORS = [
  { name: "open", paths: OPEN, who: () => null },
  { name: "account", paths: ACCOUNT, who: () => owner },
  { name: "operator", paths: OPERATOR, who: () => operator },
];

describe.skipIf(!hasBrowser).each(VISITORS)("the pages of $name", ({ name, paths, who }) => {
  it.each(SCHEMES)(
    "look as they were approved: %s",
    async (colorScheme) => {
      // The page's own policy allows no style that is put into it.
      const { page } = await site.page({
        colorScheme,
        bypassCSP: true,
        viewport: { width: 1_440, height: 900 },
      });
      const visitor = who();
      if (visitor !== null) await signInBy(page, visitor);
      const differences: string[] = [];
      for (const path of paths) {
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForFunction(() => !/Loading /.test(document.body.textContent));
        const picture = `${name}${path.replaceAll("/", "-").replace(/-$/, "-start")}-${colorScheme}`;
        const difference = await differenceOf(page, picture);
        if (difference !== null) differences.push(difference);
      }
      expect(differences).toEqual([]);
    },
    180_000,
  );
});
