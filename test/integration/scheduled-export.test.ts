import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  cronLine,
  exportCommands,
  githubWorkflow,
  TOKEN_VARIABLE,
} from "../../dashboard-ui/src/pages/audit/export/schedule.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { runProcess } from "../fixtures/run-process.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

let service: Service;
let folder: string;
let token: string;

/** More than two days, an entry every six seconds. */
const ENTRIES = 30_000;

beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), "ostiary-schedule-"));
  const owner = await signUpWithKey(service.baseUrl);
  await insertEntries(service, owner, ENTRIES);
  token = (await owner.trpc.tokens.create.mutate({ name: "export" })).token;
}, 60_000);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Runs a program in the folder, and returns its exit code and its output. */
async function run(command: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const { code, stdout, stderr } = await runProcess(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });
  return { code, output: stdout + stderr };
}

const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
const scheduled = (format: "csv" | "ndjson", filters = {}) => ({
  format,
  filters,
  serviceUrl: service.baseUrl,
});

describe("the export that the page schedules", () => {
  it.each([
    ["csv", {}],
    ["ndjson", { model: "*chat-1", status: "error" }],
  ] as const)("saves what the command line exports of the same day, as %s", async (format, filters) => {
    // What cron gives the shell: the line after the times, with its percent signs.
    const line = cronLine(scheduled(format, filters)).split(" ").slice(5).join(" ").replaceAll("\\%", "%");
    const ran = await run("/bin/sh", ["-c", line], { [TOKEN_VARIABLE]: token });
    expect(ran).toEqual({ code: 0, output: "" });
    const saved = await readFile(join(folder, `audit-${yesterday()}.${format}`), "utf8");
    const options = Object.entries(filters).flatMap(([name, value]) => [`--${name}`, value]);
    const day = ["--from", yesterday(), "--to", yesterday(), "--format", format];
    const program = join(ROOT, "sdk/dist/cli.js");
    const exported = await run(process.execPath, [program, "audit", "export", ...day, ...options], {
      OSTIARY_BASE_URL: service.baseUrl,
      OSTIARY_API_KEY: token,
    });
    expect(exported.code, exported.output).toBe(0);
    const lines = saved.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(format === "csv" ? 10_000 : 100);
    const entries = lines.filter((text) => !text.startsWith(format === "csv" ? "id," : '{"proof"'));
    expect(entries.filter((text) => text.includes(yesterday()))).toHaveLength(entries.length);
    expect(saved === exported.output).toBe(true);
    expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("keeps no file when it is refused", async () => {
    const empty = join(folder, "refused");
    const commands = exportCommands(scheduled("csv")).join(" && ");
    const { code } = await run("/bin/sh", ["-c", `mkdir ${empty} && cd ${empty} && ${commands}`], {
      [TOKEN_VARIABLE]: "mt-wrong",
    });
    expect(code).not.toBe(0);
    expect((await readdir(empty)).filter((name) => !name.endsWith(".part"))).toEqual([]);
  });

  it("runs the same commands in a workflow", () => {
    const text = githubWorkflow(scheduled("csv"));
    for (const command of exportCommands(scheduled("csv"))) expect(text).toContain(`          ${command}\n`);
  });
});
