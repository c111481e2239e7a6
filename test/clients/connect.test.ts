import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isFirstSetup, type SetupId } from "../../dashboard-ui/src/pages/connect/setup-ids.ts";
import { type Setup, setupsFor } from "../../dashboard-ui/src/pages/connect/setups.ts";
import { runInShell, runModule, type Variables } from "../fixtures/run-code.ts";
import { PROGRAMS } from "../fixtures/runtimes.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { installPython, PYTHON_TIMEOUT_MS } from "./programs/install-python.ts";

// What the dashboard's page "Quickstart" and the guide docs/how-to/connect-clients.md tell people to run.
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

function fileOf(id: SetupId): string {
  return setups.get(id)?.steps.find(({ kind }) => kind === "file")?.code ?? "";
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
    const ran = await runModule(fileOf(id), variables);
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${SAID}\n` });
  });

  it.each(["openai-python", "langchain-python"] as const)(
    "%s works",
    async (id) => {
      const path = `${await installPython()}:${process.env.PATH ?? ""}`;
      const folder = await mkdtemp(join(tmpdir(), "ostiary-python-"));
      try {
        await writeFile(join(folder, "app.py"), fileOf(id));
        const [, , command = ""] = codeOf(id);
        const ran = await runInShell(`cd ${folder} && ${command}`, { ...variables, PATH: path });
        expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${SAID}\n` });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    PYTHON_TIMEOUT_MS,
  );

  it("every client has the key in its commands, and never in a file, while the page knows it", () => {
    const key = variables.OSTIARY_API_KEY ?? "";
    const withKey = setupsFor({ serviceName: "Ostiary", publicUrl: service.baseUrl }, MODEL, key);
    for (const { id, steps } of withKey) {
      const files = steps.filter(({ kind }) => kind !== "command");
      expect(
        files.some(({ code }) => code.includes(key)),
        id,
      ).toBe(false);
      if (!isFirstSetup(id)) continue;
      const commands = steps.filter(({ kind }) => kind === "command");
      expect(
        commands.every(({ code }) => code.includes(key)),
        id,
      ).toBe(true);
    }
  });

  it("Codex works", async () => {
    const [config = "", command = ""] = codeOf("codex");
    // Codex refuses a home in the system's temporary folder.
    const home = await mkdtemp(join(homedir(), ".codex-under-test-"));
    try {
      await mkdir(join(home, ".codex"));
      await writeFile(join(home, ".codex/config.toml"), config);
      const path = `${PROGRAMS}:${process.env.PATH ?? ""}`;
      const ran = await runInShell(`cd && ${command} </dev/null`, { ...variables, HOME: home, PATH: path });
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(ran.stdout).toContain(SAID);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it("Claude Code works", async () => {
    const [exported = "", command = ""] = codeOf("claude-code");
    const home = await mkdtemp(join(homedir(), ".claude-code-under-test-"));
    try {
      const path = `${PROGRAMS}:${process.env.PATH ?? ""}`;
      const code = `cd && ${exported}\n${command} </dev/null`;
      const ran = await runInShell(code, { ...variables, HOME: home, PATH: path });
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(ran.stdout).toContain(SAID);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
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
