import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type DataDirLock,
  DataDirLockedError,
  lockDataDir,
} from "../../server/src/database/data-dir-lock.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-lock-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const lockModule = new URL("../../server/src/database/data-dir-lock.ts", import.meta.url).href;

/** A process that locks the folder and says `locked`, or why not, and stays until it is killed. */
function startLocker(dataDir: string) {
  const script = `
    import(${JSON.stringify(lockModule)})
      .then(({ lockDataDir }) => lockDataDir(${JSON.stringify(dataDir)}))
      .then(() => console.log("locked"), (error) => console.log(error.name));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = new Promise<string>((resolve) =>
    child.stdout.once("data", (chunk) => resolve(String(chunk).trim())),
  );
  return {
    pid: child.pid ?? 0,
    said,
    signal: (name: NodeJS.Signals) => child.kill(name),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      if (child.kill("SIGKILL")) await ended;
    },
  };
}

describe("a locked data folder", () => {
  it("refuses a second service with the folder, the process and what to do", async () => {
    const lock = await lockDataDir(folder);
    const refusal: unknown = await lockDataDir(folder).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DataDirLockedError);
    expect(String(refusal)).toContain(folder);
    expect(String(refusal)).toContain(`process ${process.pid}`);
    expect(String(refusal)).toContain("OSTIARY_DATA_DIR");
    expect(String(refusal)).not.toContain("\n");
    await lock.release();
  });

  it("is unlocked after its release, which leaves nothing behind", async () => {
    await (await lockDataDir(folder)).release();
    const lock = await lockDataDir(folder);
    await lock.release();
    await lock.release();
    expect(await readdir(join(folder, "lock"))).toEqual([]);
  });

  it("is unlocked after its holder was killed", async () => {
    {
      await using holder = startLocker(folder);
      expect(await holder.said).toBe("locked");
      await expect(lockDataDir(folder)).rejects.toThrow(`process ${holder.pid}`);
    }
    const left = await readdir(join(folder, "lock"));
    expect(left).not.toEqual([]);
    const lock = await lockDataDir(folder);
    expect(await readdir(join(folder, "lock"))).not.toEqual(expect.arrayContaining(left));
    await lock.release();
    expect(await readdir(join(folder, "lock"))).toEqual([]);
  });

  it("is still locked while its holder is suspended", async () => {
    await using holder = startLocker(folder);
    expect(await holder.said).toBe("locked");
    holder.signal("SIGSTOP");
    await expect(lockDataDir(folder)).rejects.toThrow(DataDirLockedError);
  });

  it("is unlocked when only a child of the holder still has the socket open", async () => {
    await mkdir(join(folder, "lock"));
    const left = join(folder, "lock", `${process.pid}-0123456789abcdef`);
    const inherited = createServer();
    await new Promise<void>((resolve) => inherited.listen(`${left}.sock`, resolve));
    execFileSync("mkfifo", [`${left}.pipe`]);
    await (await lockDataDir(folder)).release();
    await new Promise((resolve) => inherited.close(resolve));
  });

  it("may have a path that is too long for a socket", async () => {
    const deep = join(folder, "d".repeat(120));
    await mkdir(deep);
    const lock = await lockDataDir(deep);
    await expect(lockDataDir(deep)).rejects.toThrow(DataDirLockedError);
    await lock.release();
    await (await lockDataDir(deep)).release();
  });

  it("reports that a path is too long if there is no folder for temporary files", async () => {
    const deep = join(folder, "d".repeat(120));
    await mkdir(deep);
    vi.stubEnv("TMPDIR", join(folder, "absent"));
    await expect(lockDataDir(deep)).rejects.toThrow(/too long for a socket.*TMPDIR.*shorter path/);
    vi.unstubAllEnvs();
    await (await lockDataDir(deep)).release();
  });
});

describe("when services start at the same moment", () => {
  it("exactly one gets the folder, in every round", async () => {
    for (let round = 0; round < 20; round++) {
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(folder)));
      const locks = tries.flatMap((attempt): DataDirLock[] =>
        attempt.status === "fulfilled" ? [attempt.value] : [],
      );
      expect(locks).toHaveLength(1);
      await locks[0]?.release();
    }
  });

  it("exactly one gets a folder that a killed service left", async () => {
    {
      await using holder = startLocker(folder);
      await holder.said;
    }
    await using one = startLocker(folder);
    await using two = startLocker(folder);
    await using three = startLocker(folder);
    const said = await Promise.all([one.said, two.said, three.said]);
    expect(said.toSorted()).toEqual(["DataDirLockedError", "DataDirLockedError", "locked"]);
  });
});
