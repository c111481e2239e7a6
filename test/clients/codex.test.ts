import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROGRAMS } from "../fixtures/runtimes.ts";
import { MODELS, openTarget, type Target } from "./target.ts";

// The Codex CLI, which speaks the Responses API only. It runs without a terminal and without a network but the gateway.
const MCP_SERVER = fileURLToPath(new URL("./programs/mcp-server.mjs", import.meta.url));

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let target: Target;
let codex: string;
/** Codex refuses a home in the system's temporary folder. */
let home: string;

beforeAll(async () => {
  codex = join(PROGRAMS, "codex");
  target = await openTarget();
  home = await mkdtemp(join(homedir(), ".codex-under-test-"));
  await mkdir(join(home, ".codex"));
  await writeFile(
    join(home, ".codex/config.toml"),
    `model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${target.url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"

[mcp_servers.tiny]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(MCP_SERVER)}]
`,
  );
});

afterAll(async () => {
  if (home !== undefined) await rm(home, { recursive: true, force: true });
  await target?.[Symbol.asyncDispose]();
});

interface Item {
  readonly type: string;
  readonly text?: string;
  readonly message?: string;
  readonly aggregated_output?: string;
  readonly exit_code?: number;
  readonly result?: unknown;
}

/** Runs `codex exec` and returns what it has done. */
async function run(model: string, prompt: string, options: readonly string[] = []): Promise<readonly Item[]> {
  const child = spawn(
    codex,
    [
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      "--model",
      model,
      prompt,
      ...options,
    ],
    {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, HOME: home, GATEWAY_KEY: target.key },
    },
  );
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.resume();
  await once(child, "close");
  return output.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    const { type, item, message, error } = JSON.parse(line);
    if (type === "item.completed") return [item];
    return type === "error" || type === "turn.failed"
      ? [{ type: "failure", message: message ?? error?.message }]
      : [];
  });
}

const said = (items: readonly Item[]) => items.findLast(({ type }) => type === "agent_message")?.text;

describe.each(MODELS)("Codex with %s", (model) => {
  it("answers", async () => {
    expect(said(await run(model, "say hello"))).toBe("Hello there.");
  });

  it("runs a command, and answers with its output", async () => {
    const items = await run(model, "run: echo from-codex");
    expect(items).toContainEqual(
      expect.objectContaining({
        type: "command_execution",
        aggregated_output: "from-codex\n",
        exit_code: 0,
      }),
    );
    expect(said(items)).toContain("from-codex");
  });

  it("sends an image", async () => {
    const image = join(home, "pixel.png");
    await writeFile(image, Buffer.from(PIXEL, "base64"));
    expect(said(await run(model, "say hello", ["--image", image]))).toBe("Hello there.");
    expect(JSON.stringify(target.stub.received.at(-1)?.body)).toContain(PIXEL.slice(0, 20));
  });

  it("calls a tool of an MCP server, which it offers in a namespace", async () => {
    const items = await run(model, "ping the server");
    const call = items.find(({ type }) => type === "mcp_tool_call");
    expect(JSON.stringify(call?.result)).toContain("pong from afar");
    expect(said(items)).toContain("pong from afar");
  });

  it("continues after a thought", async () => {
    expect(said(await run(model, "think"))).toBe("42.");
  });

  it("says what is wrong with a request that is refused", async () => {
    const failures = (await run(model, "be wrong")).filter(({ type }) => type === "failure");
    expect(JSON.stringify(failures)).toContain("the stub takes this for wrong");
  });
});
