import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import type { BannerFacts } from "../../server/src/start/banner.ts";
import { Supervisor } from "../../server/src/start/workers/supervisor.ts";

const WORKERS = 2;
/** Workers have this process id and the next ones, which no process has. */
const FIRST_PID = 2 ** 30;
const FACTS = { url: "http://127.0.0.1:8080" } as BannerFacts;
/** A process of a worker that does only what a test says. */
class FakeProcess extends EventEmitter {
  readonly pid: number | undefined;
  readonly connected = true;

  constructor(pid?: number) {
    super();
    this.pid = pid;
  }

  send(): boolean {
    return true;
  }

  ready(): void {
    this.emit("message", { kind: "ready", facts: FACTS });
  }

  die(): void {
    this.emit("exit", null, "SIGKILL");
  }

  /** Ends by itself. */
  stop(): void {
    this.emit("exit", 0, null);
  }

  replaced(): void {
    this.emit("message", { kind: "replaced" });
  }
}

/** A supervisor whose workers are fake ones, in the order in which they were started. `next` replaces how they are started. */
function supervisorOfFakes() {
  const config = readConfig({
    DATABASE_URL: "postgres://127.0.0.1/none",
    REDIS_URL: "redis://127.0.0.1",
    OSTIARY_WORKERS: String(WORKERS),
    OSTIARY_DATA_DIR: join(tmpdir(), "none"),
  });
  const fakes: FakeProcess[] = [];
  const starts: (() => FakeProcess)[] = [];
  let pid = FIRST_PID;
  const spawn = () => {
    const start = starts.shift() ?? (() => new FakeProcess(pid++));
    const fake = start();
    fakes.push(fake);
    return fake as unknown as ChildProcess;
  };
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => void lines.push(line) });
  const supervisor = new Supervisor({ config, log, spawn, port: 0 });
  return { supervisor, fakes, starts, lines };
}

async function startAll({ supervisor, fakes }: ReturnType<typeof supervisorOfFakes>) {
  const started = supervisor.start();
  for (let index = 0; index < WORKERS; index++) {
    await setImmediate();
    fakes[index]?.ready();
  }
  expect(await started).toBe(FACTS);
}

beforeEach(() => {
  vi.spyOn(process, "kill").mockReturnValue(true);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the supervisor of workers", () => {
  it("starts a worker again that was killed while the others started", async () => {
    const all = supervisorOfFakes();
    const started = all.supervisor.start();
    await setImmediate();
    all.fakes[0]?.ready();
    await setImmediate();
    all.fakes[0]?.die();
    all.fakes[1]?.ready();
    expect(await started).toBe(FACTS);
    await expect.poll(() => all.fakes.length).toBe(WORKERS + 1);
  });

  it("starts a worker again that has stopped", async () => {
    const all = supervisorOfFakes();
    await startAll(all);
    all.fakes[0]?.stop();
    await expect.poll(() => all.fakes.length).toBe(WORKERS + 1);
  });

  describe("with a worker that stands still", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
    afterEach(() => void vi.useRealTimers());
    const killed = () => vi.mocked(process.kill).mock.calls;

    it("kills it after half a minute, and starts it again", async () => {
      const all = supervisorOfFakes();
      await startAll(all);
      for (let second = 0; second < 40; second++) {
        vi.advanceTimersByTime(1_000);
        all.fakes[0]?.emit("message", { kind: "alive" });
        if (second === 28) expect(killed()).toEqual([]);
        if (killed().length > 0) break;
      }
      expect(killed()).toEqual([[FIRST_PID + 1, "SIGKILL"]]);
      expect(all.lines.join()).toContain("a worker stands still");
      all.fakes[1]?.die();
      await expect.poll(() => all.fakes.length).toBe(WORKERS + 1);
      // Until it is ready, the start's own deadlines count.
      vi.advanceTimersByTime(60_000);
      expect(killed().filter(([pid]) => pid === FIRST_PID + WORKERS)).toEqual([]);
    });

    it("leaves it alone while the service stops, which has a deadline of its own", async () => {
      const all = supervisorOfFakes();
      await startAll(all);
      all.supervisor.signal("SIGTERM");
      vi.advanceTimersByTime(60_000);
      expect(killed().filter(([, signal]) => signal === "SIGKILL")).toEqual([]);
    });
  });

  it("stops the others, and starts none again, when a worker has been replaced by another node", async () => {
    const all = supervisorOfFakes();
    await startAll(all);
    all.fakes[0]?.replaced();
    all.fakes[0]?.stop();
    await all.supervisor.untilStopped();
    expect(vi.mocked(process.kill).mock.calls).toEqual([[FIRST_PID + 1, "SIGTERM"]]);
    const stopped = all.supervisor.stop();
    all.fakes[1]?.stop();
    expect(await stopped).toBe(0);
    expect(all.fakes).toHaveLength(WORKERS);
  });

  const failures: Record<string, () => FakeProcess> = {
    "is thrown": () => {
      throw new Error("spawn ENOMEM");
    },
    "is an event": () => {
      const failed = new FakeProcess();
      process.nextTick(() => failed.emit("error", new Error("spawn EAGAIN")));
      return failed;
    },
  };
  for (const [how, start] of Object.entries(failures)) {
    it(`tries again to start a worker when the system can't, and that ${how}`, async () => {
      const all = supervisorOfFakes();
      await startAll(all);
      all.starts.push(start, start);
      all.fakes[0]?.die();
      const attempts = () => all.lines.filter((line) => line.includes("could not be started")).length;
      await expect
        .poll(() => [attempts(), all.starts.length, all.fakes.at(-1)?.pid])
        .toEqual([2, 0, FIRST_PID + WORKERS]);
    });

    it(`does not start when a worker can't be started, and that ${how}`, async () => {
      const all = supervisorOfFakes();
      all.starts.push(start);
      const started = all.supervisor.start();
      await setImmediate();
      expect(await started).toBeNull();
      expect(await all.supervisor.stop()).toBe(1);
    });
  }

  it("passes SIGHUP on to workers that are ready alone: it would end one that has just been started", async () => {
    const all = supervisorOfFakes();
    const started = all.supervisor.start();
    await setImmediate();
    all.fakes[0]?.ready();
    await expect.poll(() => all.fakes.length).toBe(WORKERS);
    all.supervisor.signal("SIGHUP");
    expect(vi.mocked(process.kill).mock.calls).toEqual([[FIRST_PID, "SIGHUP"]]);
    all.fakes[1]?.ready();
    expect(await started).toBe(FACTS);
    all.supervisor.signal("SIGHUP");
    expect(vi.mocked(process.kill).mock.calls.slice(1)).toEqual([
      [FIRST_PID, "SIGHUP"],
      [FIRST_PID + 1, "SIGHUP"],
    ]);
  });

  it("says which signal ended a worker that was not ready, which cannot say so itself", async () => {
    const all = supervisorOfFakes();
    const started = all.supervisor.start();
    await setImmediate();
    all.fakes[0]?.die();
    expect(await started).toBeNull();
    expect(all.lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 60, worker: 1, signal: "SIGKILL" },
    ]);
    expect(await all.supervisor.stop()).toBe(1);
  });

  it("goes on when the channel of a worker reports errors, and starts no second one beside it", async () => {
    const all = supervisorOfFakes();
    await startAll(all);
    for (let number = 0; number < 2; number++) all.fakes[0]?.emit("error", new Error("Channel closed"));
    await setImmediate();
    expect(all.lines).toEqual([]);
    all.fakes[0]?.die();
    await expect.poll(() => all.fakes.length).toBe(WORKERS + 1);
  });
});
