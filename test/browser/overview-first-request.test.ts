import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { ROOT } from "../fixtures/service.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import { countsOf, openOverviewSite } from "./overview-site.ts";

const run = promisify(execFile);
const overview = openOverviewSite();

describe.skipIf(!hasBrowser)("an account that has made no request yet", () => {
  it.each(
    ["curl", "SDK", "openai"].flatMap((client) => [
      { client, variable: "OSTIARY_API_KEY", at: () => overview.site.service },
      { client, variable: "ACME_AI_API_KEY", at: () => overview.named },
    ]),
  )(
    "is led to the first one by code that runs as it is copied ($client, $variable), and sees that it has come",
    async ({ client, variable, at }) => {
      const owner = await signUpWithKey(at().baseUrl);
      const { page, complaints } = await overview.pageOf(owner, "/");
      await page.getByText("Waiting for the first request…").waitFor();
      await page.getByText(`export ${variable}=`).waitFor();
      await page.getByRole("button", { name: client, exact: true }).click();
      await page.getByRole("button", { name: "Copy code" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const code = await page.evaluate(() => navigator.clipboard.readText());

      expect(await outputOf(client, code, { [variable]: owner.key })).toContain("Hello!");
      await page.getByText("The first request has arrived.").waitFor();
      await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
      expect(complaints).toEqual([]);
    },
  );

  it("is led to a key first when it has none", async () => {
    const { page, complaints } = await overview.pageOf(await signUp(overview.site.service.baseUrl));
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps the place of a keyboard when the instructions go", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    const { page } = await overview.pageOf(owner);
    await page.getByRole("button", { name: "Copy code" }).focus();
    await overview.chat(owner.key, "sandbox/echo");
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  });
});

/** What copied code prints, run as its reader would. */
async function outputOf(client: string, code: string, variables: Record<string, string>): Promise<string> {
  const env = { PATH: process.env.PATH, ...variables };
  if (client === "curl") return (await run("bash", ["-c", code], { env })).stdout;
  const folder = await mkdtemp(join(tmpdir(), "ostiary-snippet-"));
  try {
    await mkdir(join(folder, "node_modules"));
    await symlink(join(ROOT, "sdk"), join(folder, "node_modules/ostiary"));
    await symlink(join(ROOT, "node_modules/openai"), join(folder, "node_modules/openai"));
    await writeFile(join(folder, "first.mjs"), code);
    return (await run(process.execPath, ["first.mjs"], { cwd: folder, env })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
