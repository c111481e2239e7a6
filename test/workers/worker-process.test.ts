import cluster from "node:cluster";
import { EventEmitter } from "node:events";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Metrics, MetricsJson } from "../../server/src/metrics/metrics.ts";
import type { Shutdown } from "../../server/src/start/shutdown.ts";
import { WORKER_VARIABLE, workerProcess } from "../../server/src/start/workers/worker-process.ts";

afterEach(() => vi.restoreAllMocks());

/** A worker, with the messages that the supervisor would get. */
function openWorker() {
  const sent = vi.spyOn(process, "send").mockReturnValue(true);
  const worker = workerProcess({ [WORKER_VARIABLE]: "1" });
  if (worker === null) throw new Error("the tests run in a process without a parent");
  return { worker, sent };
}

describe("a worker", () => {
  it("leaves what becomes of a message to a callback, as an error would end the process otherwise", () => {
    const { worker, sent } = openWorker();
    worker.ready(null);
    expect(sent).toHaveBeenCalledExactlyOnceWith(
      { kind: "ready", facts: null },
      undefined,
      undefined,
      expect.any(Function),
    );
  });

  it("goes on when node:cluster can't tell the supervisor of a connection, as that has just ended", () => {
    const { worker } = openWorker();
    const ofCluster = new EventEmitter();
    const { worker: before } = cluster;
    const added = vi.spyOn(process, "on").mockReturnThis();
    Object.assign(cluster, { worker: ofCluster });
    try {
      worker.stopWithSupervisor({ begin: () => {} } as unknown as Shutdown);
    } finally {
      Object.assign(cluster, { worker: before });
    }
    expect(added).toHaveBeenCalled();
    // Node repeats the error of a message here, and an error that nobody listens to ends the process.
    expect(ofCluster.emit("error", new Error("write EPIPE"))).toBe(true);
  });

  it("goes on when its metrics can't be read", async () => {
    const { worker, sent } = openWorker();
    let reads = 0;
    const metrics = {
      json: async (): Promise<MetricsJson> => {
        if (++reads === 1) throw new Error("a gauge can't be read");
        return [];
      },
      addUp: () => {},
    };
    const before = process.listeners("message");
    worker.shareMetrics(metrics as unknown as Metrics);
    const [listener] = process.listeners("message").filter((one) => !before.includes(one));
    if (listener === undefined) throw new Error("nothing listens to the supervisor");
    process.off("message", listener);
    listener({ kind: "collect metrics", id: 1 }, undefined);
    // A rejection that nobody handles would be reported by now.
    await setImmediate();
    listener({ kind: "collect metrics", id: 2 }, undefined);
    await setImmediate();
    expect(sent.mock.calls.map(([message]) => message)).toEqual([{ kind: "metrics", id: 2, metrics: [] }]);
  });
});
