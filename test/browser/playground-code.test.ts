import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { runInShell, runModule } from "../fixtures/run-code.ts";
import { composerOf, openParameters, openPlaygroundSite, saidIn } from "./playground-site.ts";

const playground = openPlaygroundSite();

describe.skipIf(!hasBrowser)("the request as code", () => {
  it("runs as it is pasted, with each client: quotes, line breaks and parameters survive", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    const text = `It's "quoted" — $HOME \`date\` \\ \${nothing}\n\tsecond line's end 'n' <b>&amp;</b> 🚪`;
    await page.getByLabel("System prompt").fill("Don't\nchange a thing");
    await openParameters(page);
    await page.getByLabel("temperature", { exact: true }).fill("0");
    await page.getByLabel("seed", { exact: true }).fill("7");
    await page.getByLabel("frequency_penalty", { exact: true }).fill("-0.5");
    await page.getByLabel("stop", { exact: true }).fill("it's over");
    await composerOf(page).fill(text);
    const dialog = page.getByRole("dialog");
    const codeOf = async (client: string) => {
      await page.getByRole("button", { name: "View as code" }).click();
      await dialog.getByRole("button", { name: client, exact: true }).click();
      await dialog.getByRole("button", { name: "Copy code" }).click();
      await dialog.getByRole("button", { name: "Copied" }).waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      const code = await page.evaluate(() => navigator.clipboard.readText());
      expect(code).not.toContain(owner.key);
      return code;
    };
    const variables = { OSTIARY_API_KEY: owner.key };

    const streamed = await runInShell(await codeOf("curl"), variables);
    expect(saidIn(streamed.stdout)).toBe(text);
    for (const client of ["Ostiary SDK", "openai"]) {
      const ran = await runModule(await codeOf(client), variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: text });
    }

    await page.getByLabel("Stream the answer").uncheck();
    const whole = await runInShell(await codeOf("curl"), variables);
    expect(JSON.parse(whole.stdout).choices[0].message.content).toBe(text);
    for (const client of ["Ostiary SDK", "openai"]) {
      const ran = await runModule(await codeOf(client), variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${text}\n` });
    }
  });

  it.each(["Responses", "Messages"])(
    "runs in the format of the %s API, streamed and not, and names what that format lacks",
    async (format) => {
      const { page, owner } = await playground.openPlayground("acme/echo");
      await page.getByLabel("System prompt").fill("Be brief.");
      await openParameters(page);
      await page.getByLabel("seed", { exact: true }).fill("7");
      await composerOf(page).fill("It's the same text.");
      const dialog = page.getByRole("dialog");
      for (const expected of ["It's the same text.", "It's the same text.\n"]) {
        await page.getByRole("button", { name: "View as code" }).click();
        await dialog.getByRole("button", { name: format, exact: true }).click();
        await dialog.getByText("This format has no seed").waitFor();
        const code = (await dialog.getByRole("region", { name: "Code" }).textContent()) ?? "";
        expect(code).toContain("Be brief.");
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
        const ran = await runModule(code, { OSTIARY_API_KEY: owner.key });
        expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: expected });
        await page.getByLabel("Stream the answer").uncheck();
      }
    },
  );

  it("is there before anything was said, and runs", async () => {
    const { page, owner } = await playground.openPlayground("acme/echo");
    await page.getByRole("button", { name: "View as code" }).click();
    const code = await page.getByRole("dialog").getByRole("region", { name: "Code" }).textContent();
    const ran = await runInShell(code ?? "", { OSTIARY_API_KEY: owner.key });
    expect(saidIn(ran.stdout)).toBe("Hello!");
  });
});
