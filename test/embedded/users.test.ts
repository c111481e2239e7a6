import { chmod, chown, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { DAEMON, House, inChangedRoot, isRoot, type RunOptions, works } from "./house.ts";

/** One that has no name, like those that containers are started as. */
const NAMELESS = 54_321;

const userNamespaces = works("unshare", "-U", "true");

async function keepsData(house: House, options: RunOptions = {}): Promise<void> {
  const service = await house.start(options);
  await service.write("kept");
  await service.kill();
  // Whoever runs it, it does not outlive its service.
  await house.isEmpty();
  const again = await house.start(options);
  expect(await again.read()).toEqual(["kept"]);
  await again.stop();
  expect(await house.processes()).toEqual([]);
}

const clusterOwner = async (house: House) => (await stat(join(house.dataDir, "postgres"))).uid;

describe("as an ordinary user", () => {
  it("the database runs as that user", async () => {
    await using house = await House.build();
    const uid = isRoot ? DAEMON : (process.getuid?.() ?? 0);
    await chown(house.dataDir, uid, isRoot ? DAEMON : -1).catch(() => {});
    await keepsData(house, isRoot ? { uid } : {});
    expect(await clusterOwner(house)).toBe(uid);
  });

  it.runIf(isRoot && userNamespaces)(
    "the database runs also when the system has no name for that user",
    async () => {
      await using house = await House.build();
      await chown(house.dataDir, NAMELESS, NAMELESS);
      await keepsData(house, { uid: NAMELESS });
    },
  );

  it.runIf(isRoot)("a folder that root created is refused with what to do", async () => {
    await using house = await House.build();
    await (await house.start()).stop();
    for (const part of ["", "lock", "postgres.password", "postgres-socket"]) {
      await chown(join(house.dataDir, part), DAEMON, DAEMON);
    }
    await expect(house.start({ uid: DAEMON })).rejects.toThrow(/EmbeddedPostgresError: .*sudo chown -R 1 \//);
  });
});

describe.runIf(isRoot)("as root", () => {
  it("the database runs as nobody", async () => {
    await using house = await House.build();
    await keepsData(house);
    expect(await clusterOwner(house)).not.toBe(0);
  });

  it("the database runs as the user who owns the cluster", async () => {
    await using house = await House.build();
    await chown(house.dataDir, DAEMON, DAEMON);
    const before = await house.start({ uid: DAEMON });
    await before.write("by the user");
    await before.stop();
    const service = await house.start();
    expect(await service.read()).toEqual(["by the user"]);
    await service.stop();
    expect(await clusterOwner(house)).toBe(DAEMON);
  });

  it.runIf(userNamespaces)("the database runs in a folder that only root can enter", async () => {
    await using house = await House.build({ mode: 0o700, ownBinaries: true, links: false });
    await keepsData(house);
    expect(await clusterOwner(house)).toBe(0);
  });

  it.runIf(works("unshare", "--mount", "true"))(
    "the database runs in such a folder when user namespaces are forbidden",
    async () => {
      await using house = await House.build({ mode: 0o700, ownBinaries: true });
      await keepsData(house, { runtime: inChangedRoot(house, [process.execPath]) });
      expect(await clusterOwner(house)).not.toBe(0);
    },
  );

  it("the database keeps running when the folder is closed to others later", async () => {
    await using house = await House.build();
    const service = await house.start();
    await service.write("kept");
    await service.kill();
    await chmod(house.folder, 0o700);
    expect(await (await house.start()).read()).toEqual(["kept"]);
  });
});
