import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Setup, type SetupId, setupsFor } from "../../dashboard-ui/src/pages/connect/setups.ts";
import { runInShell, runModule, type Variables } from "../fixtures/run-code.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { INSTALL_TIMEOUT_MS, installPrograms } from "./programs/install.ts";

// What the dashboard's page "Connect a client" and the guide docs/how-to/connect-clients.md tell people to run.
const MODEL = "sandbox/echo";
const SAID = "Say hello.";

let service: Service;
let setups: ReadonlyMap<SetupId, Setup>;
let variables: Variables;

beforeAll(async () => {
  service = await startService();
  const { key } = await signUpWithKey(service.baseUrl);
  variables = { OSTIARY_API_KEY: key };
  const all = setupsFor({ serviceName: "Ostiary", publicUrl: service.baseUrl }, MODEL);
  setups = new Map(all.map((setup) => [setup.id, setup]));
});

afterAll(() => service?.[Symbol.asyncDispose]());

function codeOf(id: SetupId): readonly string[] {
  return setups.get(id)?.steps.map(({ code }) => code) ?? [];
}

describe("the set-up of", () => {
  it("curl works for each format", async () => {
    const codes = codeOf("curl");
    expect(codes).toHaveLength(3);
    for (const code of codes) {
      const ran = await runInShell(code, variables);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(ran.stdout).toContain(`"${SAID}"`);
    }
  });

  it.each(["ostiary", "openai-node", "anthropic", "ai-sdk", "langchain"] as const)("%s works", async (id) => {
    const [code = ""] = codeOf(id);
    const ran = await runModule(code, variables);
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${SAID}\n` });
  });

  it(
    "Codex works",
    async () => {
      const [config = "", command = ""] = codeOf("codex");
      const programs = await installPrograms();
      // Codex refuses a home in the system's temporary folder.
      const home = await mkdtemp(join(homedir(), ".codex-under-test-"));
      try {
        await mkdir(join(home, ".codex"));
        await writeFile(join(home, ".codex/config.toml"), config);
        const path = `${programs}:${process.env.PATH ?? ""}`;
        const ran = await runInShell(`cd && ${command} </dev/null`, { ...variables, HOME: home, PATH: path });
        expect(ran, ran.stderr).toMatchObject({ code: 0 });
        expect(ran.stdout).toContain(SAID);
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    },
    INSTALL_TIMEOUT_MS,
  );

  it(
    "Claude Code works",
    async () => {
      const [exported = "", command = ""] = codeOf("claude-code");
      const home = await mkdtemp(join(homedir(), ".claude-code-under-test-"));
      try {
        const path = `${await installPrograms()}:${process.env.PATH ?? ""}`;
        const code = `cd && ${exported}\n${command} </dev/null`;
        const ran = await runInShell(code, { ...variables, HOME: home, PATH: path });
        expect(ran, ran.stderr).toMatchObject({ code: 0 });
        expect(ran.stdout).toContain(SAID);
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    },
    INSTALL_TIMEOUT_MS,
  );
});

describe("the guide to clients", () => {
  it("has the code of the dashboard", () => {
    const guide = readFileSync(join(ROOT, "docs/how-to/connect-clients.md"), "utf8");
    const all = setupsFor({ serviceName: "Ostiary", publicUrl: "http://127.0.0.1:8080" }, MODEL);
    for (const { label, steps } of all) {
      expect(guide).toContain(`## ${label}\n`);
      for (const { text, code } of steps) {
        expect(guide).toContain(text);
        expect(guide).toContain(code);
      }
    }
  });
});
