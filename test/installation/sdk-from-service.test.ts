import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { setupsFor } from "../../dashboard-ui/src/pages/connect/setups.ts";
import sdkPackage from "../../sdk/package.json" with { type: "json" };
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const run = promisify(execFile);

describe("the SDK's package, as the service serves it", () => {
  it("is installed into an empty folder by the snippet's command, from no registry, and its snippet runs", async () => {
    await using service = await startService();
    const { key } = await signUpWithKey(service.baseUrl);
    const setups = setupsFor({ serviceName: "Ostiary", publicUrl: service.baseUrl }, "sandbox/echo", key);
    const [install, file, command] = setups.find(({ id }) => id === "ostiary")?.steps ?? [];
    const folder = await mkdtemp(join(tmpdir(), "ostiary-installed-"));
    try {
      const env = {
        PATH: process.env.PATH,
        HOME: folder,
        npm_config_registry: "http://127.0.0.1:1/",
        npm_config_fetch_retries: "0",
      };
      await run("bash", ["-c", `${install?.code} --no-audit --no-fund`], { cwd: folder, env });
      await writeFile(join(folder, "app.mjs"), file?.code ?? "");
      const { stdout } = await run("bash", ["-c", command?.code ?? ""], { cwd: folder, env });
      expect(stdout).toBe("Say hello.\n");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("is a gzip file that caches may keep only under the name of its version", async () => {
    await using service = await startService();
    const newest = await fetch(`${service.baseUrl}/sdk/ostiary.tgz`);
    const versioned = await fetch(`${service.baseUrl}/sdk/ostiary-${sdkPackage.version}.tgz`);
    expect(newest.headers.get("content-type")).toBe("application/gzip");
    expect(newest.headers.get("cache-control")).toBe("no-cache");
    expect(versioned.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(Buffer.from(await newest.arrayBuffer())).toEqual(Buffer.from(await versioned.arrayBuffer()));
    const unknown = await fetch(`${service.baseUrl}/sdk/ostiary-0.0.0.tgz`);
    expect(unknown.status).toBe(404);
  });
});
