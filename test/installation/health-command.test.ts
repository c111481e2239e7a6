import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT, startService } from "../fixtures/service.ts";

const run = promisify(execFile);

/** Runs `ostiary-server health` with the settings of a service. */
function health(
  env: Readonly<Record<string, string>>,
  { cwd = "/", options = [] }: { readonly cwd?: string; readonly options?: readonly string[] } = {},
) {
  const command = [join(ROOT, "server/dist/ostiary-server.js"), "health", ...options];
  return run(process.execPath, command, { cwd, env: { PATH: process.env.PATH ?? "", ...env } });
}

describe("ostiary-server health", () => {
  it("reads the file .env, of which it says if it cannot be read, and refuses a port that is none", async () => {
    await using service = await startService();
    const { port } = new URL(service.baseUrl);
    const cwd = await mkdtemp(join(tmpdir(), "ostiary-health-"));
    const file = join(cwd, ".env");
    try {
      await writeFile(file, `PORT=${port}\n`);
      expect((await health({}, { cwd })).stdout).toContain("ready");
      // As some editors and shells of Windows save it.
      for (const saved of [`\ufeffPORT=${port}\n`, Buffer.from(`\ufeffPORT=${port}\n`, "utf16le")]) {
        await writeFile(file, saved);
        await expect(health({}, { cwd })).rejects.toMatchObject({
          code: 1,
          stderr:
            "The file .env of the working folder begins with a byte order mark. Save it as UTF-8 without one\n",
        });
      }
      await rm(file);
      await symlink(".env", file);
      await expect(health({ PORT: port }, { cwd })).rejects.toMatchObject({
        code: 1,
        stderr: "The file .env of the working folder cannot be read: its links form a loop\n",
      });
    } finally {
      await rm(cwd, { recursive: true });
    }
    await expect(health({ PORT: "http" })).rejects.toMatchObject({
      code: 1,
      stderr: "PORT: must be a whole number from 1 to 65535\n",
    });
  });

  it("says if the service on this machine is ready, and why it does not answer", async () => {
    await using service = await startService();
    const { port: PORT } = new URL(service.baseUrl);
    expect((await health({ HOST: "0.0.0.0", PORT })).stdout).toContain("ready");
    expect((await health({ PORT }, { options: ["--live"] })).stdout).toContain("ok");
    await service.stop();
    await expect(health({ PORT })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^The service does not answer on 127.0.0.1 port ${PORT}: .+\n$`),
      ),
    });
  });
});
