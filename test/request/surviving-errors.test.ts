import { once } from "node:events";
import fs from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";

/** The servers that were made, whether the system can start processes, and how many it has not started. */
const { made, system } = vi.hoisted(() => ({
  made: [] as Server[],
  system: { lacksMemory: false, refusals: 0 },
}));

vi.mock("node:net", async (original) => {
  const net = await original<typeof import("node:net")>();
  const makeServer = (...parameters: Parameters<typeof net.createServer>) => {
    const server = net.createServer(...parameters);
    made.push(server);
    return server;
  };
  return { ...net, createServer: makeServer };
});

vi.mock("node:child_process", async (original) => {
  const processes = await original<typeof import("node:child_process")>();
  const spawn = (...parameters: Parameters<typeof processes.spawn>) => {
    if (system.lacksMemory) {
      system.refusals++;
      throw new Error("spawn ENOMEM");
    }
    return processes.spawn(...parameters);
  };
  return { ...processes, spawn };
});

import { lockDataDir } from "../../server/src/database/data-dir-lock.ts";
import { Acceptors } from "../../server/src/http/acceptors.ts";
import { openLog } from "../../server/src/start/open-log.ts";

afterEach(() => {
  made.length = 0;
  system.lacksMemory = false;
  system.refusals = 0;
});

describe("the service goes on", () => {
  it("when the system can't start the process that copies its listening socket", async () => {
    system.lacksMemory = true;
    const server = createServer().listen(0, "127.0.0.1");
    const acceptors = new Acceptors(server, 100);
    acceptors.allow();
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 40 }, () => connect(port, "127.0.0.1"));
    await expect.poll(() => system.refusals).toBe(1);
    // All are accepted nevertheless, and an unhandled rejection would be reported by now.
    await expect.poll(() => promisify(server.getConnections.bind(server))()).toBe(40);
    for (const socket of sockets) socket.destroy();
    await acceptors.stop();
    server.close();
  });

  it("when connections to the lock of its data folder can't be accepted", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-lock-"));
    const lock = await lockDataDir(folder);
    const [server] = made;
    expect(server).toBeDefined();
    for (let number = 0; number < 2; number++) server?.emit("error", new Error("accept EMFILE"));
    await lock.release();
    await rm(folder, { recursive: true, force: true });
  });

  it("when its log can't be written, as on a full disk, and writes what it can later", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-log-"));
    const path = join(folder, "log");
    const log = openLog("info", fs.openSync(path, "a"));
    const written = vi.spyOn(fs, "writeSync").mockImplementation(() => {
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    });
    for (let number = 0; number < 20_000; number++) log.info({ number }, "a line");
    log.fatal("the last line of a full disk");
    expect(written.mock.calls.length).toBeGreaterThan(20_000);
    written.mockRestore();
    log.info("there is space");
    log.info("all is well");
    const lines = (await readFile(path, "utf8")).trim().split("\n");
    expect(lines.length).toBeGreaterThan(1_000);
    expect(lines.map((line) => JSON.parse(line).msg).at(-1)).toBe("all is well");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200);
    await rm(folder, { recursive: true, force: true });
  });
});
