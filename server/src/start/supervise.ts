import process from "node:process";
import type { Config } from "../config/config.ts";
import { announce } from "./banner.ts";
import { sharedPort, spawnWorker } from "./spawn-worker.ts";
import type { Startup } from "./startup.ts";
import { Supervisor } from "./supervisor.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Runs the service as several workers if `OSTIARY_WORKERS` says so, until it is stopped. Before that, records what nodes left in
 * folders that this start does not continue: there may be some after the number of workers was changed.
 *
 * @returns the exit code; `null` when this process is to be the service itself.
 */
export async function supervise(
  config: Config,
  { log, hasBanner }: Pick<Startup, "log" | "hasBanner">,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number | null> {
  // The bundled database has one node.
  if (config.databaseUrl === null) return null;
  const port = config.workers === 1 ? config.port : await sharedPort(config.host, config.port);
  const spawn = (added: Readonly<Record<string, string>>) => spawnWorker({ ...environment, ...added });
  const supervisor = new Supervisor({ config, log, spawn, port });
  const handlers = SIGNALS.map((signal) => [signal, () => supervisor.signal(signal)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  const isDrained = await supervisor.drainLeftovers();
  if (isDrained && config.workers === 1) {
    for (const [signal, handler] of handlers) process.off(signal, handler);
    return null;
  }
  const facts = isDrained ? await supervisor.start() : null;
  if (facts !== null) {
    announce({ log, hasBanner }, facts);
    await supervisor.untilStopped();
  }
  return supervisor.stop();
}
