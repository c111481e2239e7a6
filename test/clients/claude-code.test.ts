import { mkdtemp, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runInShell } from "../fixtures/run-code.ts";
import type { Ran } from "../fixtures/run-process.ts";
import { PROGRAMS } from "../fixtures/runtimes.ts";
import { MODELS, openTarget, type Target } from "./target.ts";

// Claude Code, which speaks the Messages API only.
let target: Target;
let home: string;

beforeAll(async () => {
  target = await openTarget();
  home = await mkdtemp(join(homedir(), ".claude-code-under-test-"));
});

afterAll(async () => {
  if (home !== undefined) await rm(home, { recursive: true, force: true });
  await target?.[Symbol.asyncDispose]();
});

function run(model: string, prompt: string): Promise<Ran> {
  const command = `cd && claude --print ${JSON.stringify(prompt)} --allowedTools "Bash(echo:*)" </dev/null`;
  return runInShell(command, {
    PATH: `${PROGRAMS}:${process.env.PATH ?? ""}`,
    HOME: home,
    ANTHROPIC_BASE_URL: target.url,
    ANTHROPIC_AUTH_TOKEN: target.key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
}

describe.each(MODELS)("Claude Code with %s", (model) => {
  it("answers", async () => {
    const ran = await run(model, "say hello");
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "Hello there.\n" });
  });

  it("runs a command, and answers with its output", async () => {
    const ran = await run(model, "run: echo from-claude");
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(ran.stdout).toContain("The tools said: from-claude");
  });

  it("says what is wrong with a request that is refused", async () => {
    const ran = await run(model, "be wrong");
    expect(ran.stdout + ran.stderr).toContain("the stub takes this for wrong");
  });
});
