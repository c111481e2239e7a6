import { existsSync } from "node:fs";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { DENO } from "../fixtures/runtimes.ts";
import { Installation, inChangedRoot, isRoot, until, works } from "./installation.ts";

const deno = DENO;
const permissions = ["net", "env", "read", "write", "run", "sys", "ffi"].map((name) => `--allow-${name}`);
const runtime = [deno, "run", "--no-config", "--no-lock", ...permissions];

describe.runIf(existsSync(deno))("on Deno", () => {
  it("the database survives kill -9 of the service and of PostgreSQL, and is locked", async () => {
    await using installation = await Installation.build();
    const service = await installation.start({ runtime });
    await service.write("kept");
    await expect(installation.start({ runtime })).rejects.toThrow("DataDirLockedError");
    await service.kill();
    // It does not outlive its service.
    await installation.isEmpty();
    const again = await installation.start({ runtime });
    expect(await again.read()).toEqual(["kept"]);
    process.kill(await installation.postmasterPid(), "SIGKILL");
    await until("the database runs again", async () =>
      again.logs.some((line) => line.includes("runs again")),
    );
    expect(await again.read()).toEqual(["kept"]);
    await again.stop();
    expect(await installation.processes()).toEqual([]);
  });

  it.runIf(isRoot && works("unshare", "--mount", "true"))(
    "the database runs in a folder that only root can enter",
    async () => {
      await using installation = await Installation.build({ mode: 0o700, ownBinaries: true, links: false });
      for (const run of [runtime, inChangedRoot(installation, runtime)]) {
        const service = await installation.start({ runtime: run });
        await service.write("kept");
        await service.kill();
        await installation.isEmpty();
      }
      expect(await (await installation.start({ runtime })).read()).toEqual(["kept", "kept"]);
    },
  );
});
