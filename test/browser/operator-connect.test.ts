import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { openSite, signInBy } from "../fixtures/site.ts";
import { signUp, type Visitor } from "../fixtures/user.ts";

const CREDENTIAL = "secret-of-the-provider-0123456789";

const site = openSite(startOperatedService);
let operator: Visitor;

beforeAll(async () => {
  if (hasBrowser) operator = await signInOperator(site.service.baseUrl);
});

/** A provider with two models that accepts one credential. */
function startProvider() {
  return startModelServer(({ path, headers, response }) => {
    if (path !== "/v1/models") response.writeHead(302, { location: "/v1/models" }).end();
    else if (headers.authorization !== `Bearer ${CREDENTIAL}`) response.writeHead(401).end(CREDENTIAL);
    else
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ object: "list", data: [{ id: "large" }, { id: "text-embed" }] }));
  });
}

describe.skipIf(!hasBrowser)("connecting a provider", () => {
  it("checks the credential, names what is wrong, and writes a catalog file that the service loads", async () => {
    await using provider = await startProvider();
    const { page, complaints } = await site.page();
    await signInBy(page, operator);
    await page.goto("/operator/catalog");
    await page.getByRole("main").getByRole("link", { name: "Connect a provider" }).click();
    await page.getByLabel("Provider").selectOption({ label: "Other (OpenAI-compatible)" });
    await page.getByLabel("Base URL").fill(provider.baseUrl);
    await page.getByLabel("Credential", { exact: true }).fill("wrong-credential-0123456789");
    await page.getByRole("button", { name: "Check credential" }).click();
    await page.getByText("The provider refused the credential (status 401)").waitFor();

    await page.getByLabel("Credential", { exact: true }).fill(CREDENTIAL);
    await page.getByRole("button", { name: "Check credential" }).click();
    await page.getByText("lists 2 models").waitFor();
    await page.getByLabel("large").check();
    await page.getByLabel("text-embed").check();
    const yaml =
      (await page
        .getByRole("region", { name: "Catalog file" })
        .filter({ hasText: "text-embed" })
        .textContent()) ?? "";
    await page.getByText("PROVIDER_API_KEY=…").waitFor();
    expect(await page.content()).not.toContain(CREDENTIAL);
    expect(complaints).toEqual([]);

    await using catalog = await writeCatalog(yaml);
    const env = { OSTIARY_CATALOG: catalog.file, PROVIDER_API_KEY: CREDENTIAL };
    await using service = await startService({ env });
    const owner = await signUp(service.baseUrl);
    const { models } = await owner.trpc.models.list.query();
    expect(models.map(({ id, modalities }) => [id, modalities.output])).toEqual([
      ["custom/large", ["text"]],
      ["custom/text-embed", ["embedding"]],
    ]);
  });

  it("has what was typed after signing in again, but not the credential", async () => {
    const { page } = await site.open(operator, "/operator/connect");
    const cookies = await page.context().cookies();
    const address = page.getByLabel("Base URL");
    await page.getByLabel("Provider").selectOption({ label: "Azure OpenAI" });
    await address.fill("https://models.openai.azure.com/openai/v1");
    await page.getByLabel("Credential", { exact: true }).fill(CREDENTIAL);
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Check credential" }).click();
    await page.getByText("Your session has ended.").waitFor();
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain(CREDENTIAL);
    await page.context().addCookies(cookies);
    await page.goto("/operator/connect");
    await expect.poll(() => address.inputValue()).toBe("https://models.openai.azure.com/openai/v1");
    expect(await page.getByLabel("Credential", { exact: true }).inputValue()).toBe("");
  });

  it("records the address but never the credential, and follows no redirect", async () => {
    await using provider = await startProvider();
    const input = { dialect: "openai", credential: CREDENTIAL } as const;
    const { check } = operator.trpc.operator.providers;
    expect(await check.mutate({ ...input, baseUrl: provider.baseUrl })).toEqual({
      models: ["large", "text-embed"],
      problem: null,
    });
    const moved = await check.mutate({ ...input, baseUrl: `${provider.baseUrl}/elsewhere` });
    expect(moved.problem).toContain("status 302");
    const { actions } = await operator.trpc.operator.audit.query();
    expect(actions.slice(0, 2).map(({ action, after }) => [action, after?.accepted])).toEqual([
      ["provider.check", false],
      ["provider.check", true],
    ]);
    expect(JSON.stringify(actions)).not.toContain(CREDENTIAL);
    expect(site.service.stdout() + site.service.stderr()).not.toContain(CREDENTIAL);
  });

  it("names an address where nothing answers, and refuses one that is no URL or has a password", async () => {
    const { check } = operator.trpc.operator.providers;
    const input = { dialect: "openai", credential: null } as const;
    const { problem } = await check.mutate({ ...input, baseUrl: "http://127.0.0.1:1/v1" });
    expect(problem).toContain("Could not connect to 127.0.0.1:1");
    for (const baseUrl of ["file:///etc/passwd", "nowhere", "https://user:password@example.com/v1"])
      expect(await refusalOf(check.mutate({ ...input, baseUrl }))).toMatchObject({ status: 400 });
  });

  it("is refused to everyone but operators", async () => {
    const owner = await signUp(site.service.baseUrl);
    const { check } = owner.trpc.operator.providers;
    const call = check.mutate({ dialect: "openai", baseUrl: "http://127.0.0.1:1/v1", credential: null });
    expect(await refusalOf(call)).toEqual({ status: 403, code: "permission_denied" });
  });
});
