import cluster from "node:cluster";
import { once } from "node:events";
import { expect, it } from "vitest";
import { spawnWorker } from "../../server/src/start/workers/spawn-worker.ts";

it("a worker that the system can't start is an error of its process, and nothing else", async () => {
  // The system's error is an event, as for a limit of processes.
  cluster.setupPrimary({ cwd: "/there/is/no/such/folder" });
  const child = spawnWorker({});
  const [error] = await once(child, "error");
  expect(error).toMatchObject({ code: "ENOENT" });
  expect(child.pid).toBeUndefined();
});
