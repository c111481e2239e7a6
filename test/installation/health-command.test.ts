import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT, startService } from "../fixtures/service.ts";

const run = promisify(execFile);

/** Runs `ostiary-server health` with the settings of a service. */
function health(env: Readonly<Record<string, string>>, ...options: string[]) {
  const command = [join(ROOT, "server/dist/ostiary-server.js"), "health", ...options];
  return run(process.execPath, command, { env: { PATH: process.env.PATH ?? "", ...env } });
}

describe("ostiary-server health", () => {
  it("says if the service on this machine is ready, and why it does not answer", async () => {
    await using service = await startService();
    const { port: PORT } = new URL(service.baseUrl);
    expect((await health({ HOST: "0.0.0.0", PORT })).stdout).toContain("ready");
    expect((await health({ PORT }, "--live")).stdout).toContain("ok");
    await service.stop();
    await expect(health({ PORT })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^The service does not answer on 127.0.0.1 port ${PORT}: .+\n$`),
      ),
    });
  });
});
