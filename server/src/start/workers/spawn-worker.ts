import { type ChildProcess, spawn } from "node:child_process";
import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:net";
import process from "node:process";
import { isDeno } from "../runtime.ts";

/** The arguments of `npm run start:deno`, without prompts for permissions, and with the option that `Deno.serve` needs to share a port. */
const DENO_ARGUMENTS = [
  "run",
  "--v8-flags=--max-semi-space-size=32,--heap-growing-percent=400",
  "--no-prompt",
  "--unstable-net",
  ...["net", "env", "read", "write", "run", "sys", "ffi"].map((name) => `--allow-${name}`),
];

/**
 * Starts this program again as a worker that shares its port with others. On Node the supervisor accepts connections and hands
 * them to the workers in turn; on Deno the kernel divides them.
 *
 * @param environment the whole environment of the worker.
 */
export function spawnWorker(environment: Readonly<Record<string, string | undefined>>): ChildProcess {
  if (!isDeno) {
    // Metrics have values that JSON can't carry, such as NaN.
    cluster.setupPrimary({ serialization: "advanced" });
    const worker = cluster.fork(environment);
    // The worker repeats the errors of its process, to which the supervisor listens.
    worker.on("error", () => {});
    return worker.process;
  }
  const [, program = "", ...args] = process.argv;
  return spawn(process.execPath, [...DENO_ARGUMENTS, program, ...args], {
    env: { ...environment },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/**
 * Returns the port for workers to listen on. On Deno each would get another free port for port 0, so one is chosen here. On Node
 * they get the same one.
 */
export async function sharedPort(host: string, port: number): Promise<number> {
  if (port !== 0 || !isDeno) return port;
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return address === null || typeof address === "string" ? 0 : address.port;
}
