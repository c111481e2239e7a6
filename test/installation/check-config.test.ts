import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";

const run = promisify(execFile);

/** Runs `ostiary-server check-config` with these settings alone. */
function checkConfig(settings: Readonly<Record<string, string>>) {
  const command = [join(ROOT, "server/dist/ostiary-server.js"), "check-config"];
  return run(process.execPath, command, { cwd: "/", env: { PATH: process.env.PATH ?? "", ...settings } });
}

describe("ostiary-server check-config", () => {
  it("writes a line for each problem", async () => {
    const settings = { PORT: "http", OSTIARY_DRAIN_S: "soon", OSTIARY_SIGN_UP: "open" };
    await expect(checkConfig(settings)).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^PORT: [^,]+\nOSTIARY_DRAIN_S: [^,]+\nOSTIARY_SIGN_UP: [^,]+\n$/),
    });
  });

  it.each([
    ["::1", "[::1]:81"],
    ["0.0.0.0", "0.0.0.0:81"],
  ])("shows where it listens with HOST=%s", async (HOST, address) => {
    expect((await checkConfig({ HOST, PORT: "81" })).stdout).toContain(`address   ${address}\n`);
  });

  it.each([
    ["redis://:hunter2@redis.example/2", "redis.example/2"],
    ["redis+cluster://:hunter2@a.example:7000,b.example", "a.example:7000, b.example:6379"],
    ["rediss+sentinel://a.example:26379,b.example:26379/main", "a.example:26379, b.example:26379"],
  ])("shows where %s leads, without its password", async (url, servers) => {
    const { stdout, stderr } = await checkConfig({ REDIS_URL: url });
    expect(stderr).toBe("");
    expect(stdout).toContain(`redis     ${servers}\n`);
    expect(stdout).not.toContain("hunter2");
  });
});
