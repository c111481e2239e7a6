import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { DAEMON, Installation, inChangedRoot, isRoot, type RunOptions, works } from "./installation.ts";

/** One that has no name, like those that containers are started as. */
const NAMELESS = 54_321;

const userNamespaces = works("unshare", "-U", "true");

async function keepsData(installation: Installation, options: RunOptions = {}): Promise<void> {
  const service = await installation.start(options);
  await service.write("kept");
  await service.kill();
  // It does not outlive its service, whichever user runs it.
  await installation.isEmpty();
  const again = await installation.start(options);
  expect(await again.read()).toEqual(["kept"]);
  await again.stop();
  expect(await installation.processes()).toEqual([]);
}

const clusterOwner = async (installation: Installation) =>
  (await stat(join(installation.dataDir, "postgres"))).uid;

describe("as an ordinary user", () => {
  it("the database runs as that user", async () => {
    await using installation = await Installation.build();
    const uid = isRoot ? DAEMON : (process.getuid?.() ?? 0);
    await chown(installation.dataDir, uid, isRoot ? DAEMON : -1).catch(() => {});
    await keepsData(installation, isRoot ? { uid } : {});
    expect(await clusterOwner(installation)).toBe(uid);
  });

  it.runIf(isRoot && userNamespaces)(
    "the database runs also when the system has no name for that user",
    async () => {
      await using installation = await Installation.build();
      await chown(installation.dataDir, NAMELESS, NAMELESS);
      await keepsData(installation, { uid: NAMELESS });
    },
  );

  it.runIf(isRoot && works("unshare", "--mount", "true"))(
    "that has no name, the database is refused with what to do where user namespaces are forbidden",
    async () => {
      await using installation = await Installation.build();
      await mkdir(installation.dataDir, { recursive: true });
      await chown(installation.dataDir, NAMELESS, NAMELESS);
      const asNameless = ["setpriv", `--reuid=${NAMELESS}`, `--regid=${NAMELESS}`, "--clear-groups"];
      const runtime = inChangedRoot(installation, [...asNameless, process.execPath]);
      await expect(installation.start({ runtime })).rejects.toThrow(
        `user ${NAMELESS} has no name here, and needs one: add it to the system's list of users, for a dynamic user of systemd install libnss-systemd`,
      );
    },
  );

  it.runIf(isRoot)("a folder that root created is refused with what to do", async () => {
    await using installation = await Installation.build();
    await (await installation.start()).stop();
    for (const part of ["", "lock", "postgres.password", "postgres-socket"]) {
      await chown(join(installation.dataDir, part), DAEMON, DAEMON);
    }
    await expect(installation.start({ uid: DAEMON })).rejects.toThrow(
      /EmbeddedPostgresError: .*sudo chown -R 1 \//,
    );
  });
});

describe.runIf(isRoot)("as root", () => {
  it("the database runs as nobody", async () => {
    await using installation = await Installation.build();
    await keepsData(installation);
    expect(await clusterOwner(installation)).not.toBe(0);
  });

  it("the database runs as the user who owns the cluster", async () => {
    await using installation = await Installation.build();
    await chown(installation.dataDir, DAEMON, DAEMON);
    const before = await installation.start({ uid: DAEMON });
    await before.write("by the user");
    await before.stop();
    const service = await installation.start();
    expect(await service.read()).toEqual(["by the user"]);
    await service.stop();
    expect(await clusterOwner(installation)).toBe(DAEMON);
  });

  it("a command leaves the database to its owner, whose folder is in one that only root can enter, as systemd's is", async () => {
    await using installation = await Installation.build({
      dataDir: "private/data",
      ownBinaries: true,
      links: false,
    });
    const outer = dirname(installation.dataDir);
    await chown(installation.dataDir, DAEMON, DAEMON);
    await chmod(installation.dataDir, 0o700);
    const before = await installation.start({ uid: DAEMON });
    await before.write("by the user");
    await before.stop();
    await chmod(outer, 0o700);
    const command = await installation.start();
    expect(await command.read()).toEqual(["by the user"]);
    await command.stop();
    expect(await clusterOwner(installation)).toBe(DAEMON);
    // For its own user systemd mounts it elsewhere.
    await chmod(outer, 0o755);
    expect(await (await installation.start({ uid: DAEMON })).read()).toEqual(["by the user"]);
  });

  it.runIf(userNamespaces)("the database runs in a folder that only root can enter", async () => {
    await using installation = await Installation.build({ mode: 0o700, ownBinaries: true, links: false });
    await keepsData(installation);
    expect(await clusterOwner(installation)).toBe(0);
  });

  it.runIf(works("unshare", "--mount", "true"))(
    "the database runs in such a folder when user namespaces are forbidden",
    async () => {
      await using installation = await Installation.build({ mode: 0o700, ownBinaries: true });
      await keepsData(installation, { runtime: inChangedRoot(installation, [process.execPath]) });
      expect(await clusterOwner(installation)).not.toBe(0);
    },
  );

  it("the database keeps running when the folder is closed to others later", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    await service.kill();
    await chmod(installation.folder, 0o700);
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });
});
