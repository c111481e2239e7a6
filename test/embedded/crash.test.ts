import { spawn } from "node:child_process";
import { chown, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { DAEMON, Installation, isRoot, until } from "./installation.ts";

/** Zombies are made and looked at in Linux's way. */
const isLinux = process.platform === "linux";

describe("committed data", () => {
  it("survives kill -9 of the service, and its PostgreSQL ends with it", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    // Also when a connection is busy with something that does not end.
    await service.work();
    await service.kill();
    await installation.isEmpty();
    // A shutdown in order, and no crash: its pid file is gone.
    await expect(installation.postmasterPid()).rejects.toThrow("ENOENT");
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });

  it("survives a start while the PostgreSQL of a killed service is suspended", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    const orphan = await installation.postmasterPid();
    // Suspended, it does not follow the guard's signal, and the next service still finds it.
    for (const pid of await installation.processes()) process.kill(pid, "SIGSTOP");
    await service.kill();
    const next = await installation.start();
    expect(next.logs.join("\n")).toContain("of an earlier run is still there");
    // It went on, and shut down in order.
    const log = await readFile(join(installation.dataDir, "postgres.log"), "utf8");
    expect(
      log
        .split("\n")
        .filter((line) => line.includes("database system was"))
        .at(-1),
    ).toContain("was shut down");
    expect(await next.read()).toEqual(["kept"]);
    expect(await installation.processes()).not.toContain(orphan);
  });

  it.runIf(isLinux)("survives kill -9 of a service whose PostgreSQL keeps running", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    const orphan = await installation.postmasterPid();
    const guard = (await service.guardPid()) ?? 0;
    // Stopped, so that it does not start another guard in between.
    process.kill(service.pid, "SIGSTOP");
    process.kill(guard, "SIGKILL");
    await service.kill();
    expect(await installation.processes()).toContain(orphan);
    const again = await installation.start();
    expect(await again.read()).toEqual(["kept"]);
    expect(await installation.processes()).not.toContain(orphan);
  });

  it("survives kill -9 of both", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    // Stopped, so that it does not start another in between.
    process.kill(service.pid, "SIGSTOP");
    process.kill(await installation.postmasterPid(), "SIGKILL");
    await service.kill();
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });

  it.runIf(isLinux)("survives when the stored pid now belongs to another program", async () => {
    await keepsDataWithPidOf("exec sleep 600 & echo $!; wait");
  });

  it.runIf(isLinux)("survives when the stored pid belongs to a zombie", async () => {
    // What becomes of the shell does not ask about the shell's children.
    await keepsDataWithPidOf("sleep 0 & echo $!; exec sleep 600", / Z /);
  });
});

describe("in a running service", () => {
  it("a killed PostgreSQL restarts although one of its connections is busy", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    await service.work();
    process.kill(await installation.postmasterPid(), "SIGKILL");
    await until("the database answers again", async () =>
      service.logs.some((line) => line.includes("runs again")),
    );
    expect(await service.read()).toEqual(["kept"]);
  });

  it("a killed PostgreSQL restarts at the same address, every time", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    for (let round = 0; round < 2; round++) {
      const killed = await installation.postmasterPid();
      process.kill(killed, "SIGKILL");
      await until("the database answers again", async () => {
        const notes = await service.read().catch(() => null);
        return notes !== null && (await installation.postmasterPid().catch(() => killed)) !== killed;
      });
      expect(await service.read()).toEqual(["kept"]);
    }
    expect(service.logs.join("\n")).toMatch(/ended unexpectedly \(SIGKILL\)(.|\n)*runs again/);
    await service.stop();
    expect(await installation.processes()).toEqual([]);
  });

  it.runIf(isLinux)("a killed guard process is replaced, and the new one works", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    const first = (await service.guardPid()) ?? 0;
    process.kill(first, "SIGKILL");
    await until("there is another guard", async () => ![null, first].includes(await service.guardPid()));
    await service.kill();
    await installation.isEmpty();
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });

  it("a restarted PostgreSQL still ends with its service", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await service.write("kept");
    process.kill(await installation.postmasterPid(), "SIGKILL");
    await until("the database runs again", async () =>
      service.logs.some((line) => line.includes("runs again")),
    );
    await service.kill();
    await installation.isEmpty();
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });

  it("stopping during a restart leaves no PostgreSQL behind", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    process.kill(await installation.postmasterPid(), "SIGKILL");
    await service.stop();
    await until("the last process has ended", async () => (await installation.processes()).length === 0);
  });

  it("a second service on the same folder is refused and does no harm", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    await expect(installation.start()).rejects.toThrow(
      `DataDirLockedError: The data folder ${installation.dataDir} is in use by another Ostiary (process ${service.pid})`,
    );
    await service.write("kept");
    expect(await service.read()).toEqual(["kept"]);
  });
});

/**
 * Starts a service where pid and lock files are as a killed server leaves them, with the pid that a shell script prints.
 * All as one user, and not root's: Postgres takes no notice of others' processes.
 */
async function keepsDataWithPidOf(script: string, stat = / S /): Promise<void> {
  const user = isRoot ? { uid: DAEMON, gid: DAEMON } : {};
  await using installation = await Installation.build();
  if (isRoot) await chown(installation.dataDir, DAEMON, DAEMON);
  const service = await installation.start(user);
  await service.write("kept");
  const { host } = await service.ready;
  await service.stop();

  const shell = spawn("/bin/sh", ["-c", script], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
    ...user,
  });
  const ended = new Promise((resolve) => shell.once("exit", resolve));
  try {
    const pid = await new Promise<number>((resolve) =>
      shell.stdout.once("data", (chunk) => resolve(Number(chunk))),
    );
    await until("the process is as it should be", async () =>
      stat.test(await readFile(`/proc/${pid}/stat`, "utf8")),
    );
    const cluster = join(installation.dataDir, "postgres");
    const lines = [pid, cluster, 1_700_000_000, 5432, host, "", "  9999999     99999", "ready   "].join("\n");
    for (const path of [join(cluster, "postmaster.pid"), join(host, ".s.PGSQL.5432.lock")]) {
      await writeFile(path, `${lines}\n`, { mode: 0o600 });
      if (isRoot) await chown(path, DAEMON, DAEMON);
    }
    expect(await (await installation.start(user)).read()).toEqual(["kept"]);
    process.kill(pid, 0);
  } finally {
    // Its session: the shell and what it started.
    process.kill(-(shell.pid ?? Number.NaN), "SIGKILL");
    await ended;
  }
}
