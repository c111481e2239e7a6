import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { House, inChangedRoot, isRoot, until, works } from "./house.ts";

const deno = fileURLToPath(new URL("../../node_modules/.bin/deno", import.meta.url));
const permissions = ["net", "env", "read", "write", "run", "sys", "ffi"].map((name) => `--allow-${name}`);
const runtime = [deno, "run", "--no-config", "--no-lock", ...permissions];

describe.runIf(existsSync(deno))("on Deno", () => {
  it("the database survives kill -9 of the service and of PostgreSQL, and is locked", async () => {
    await using house = await House.build();
    const service = await house.start({ runtime });
    await service.write("kept");
    await expect(house.start({ runtime })).rejects.toThrow("DataDirLockedError");
    await service.kill();
    // It does not outlive its service.
    await house.isEmpty();
    const again = await house.start({ runtime });
    expect(await again.read()).toEqual(["kept"]);
    process.kill(await house.postmasterPid(), "SIGKILL");
    await until("the database runs again", async () =>
      again.logs.some((line) => line.includes("runs again")),
    );
    expect(await again.read()).toEqual(["kept"]);
    await again.stop();
    expect(await house.processes()).toEqual([]);
  });

  it.runIf(isRoot && works("unshare", "--mount", "true"))(
    "the database runs in a folder that only root can enter",
    async () => {
      await using house = await House.build({ mode: 0o700, ownBinaries: true, links: false });
      for (const run of [runtime, inChangedRoot(house, runtime)]) {
        const service = await house.start({ runtime: run });
        await service.write("kept");
        await service.kill();
        await house.isEmpty();
      }
      expect(await (await house.start({ runtime })).read()).toEqual(["kept", "kept"]);
    },
  );
});
