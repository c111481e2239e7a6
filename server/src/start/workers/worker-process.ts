import cluster from "node:cluster";
import process from "node:process";
import { withTimeout } from "../../errors/deadline.ts";
import type { Metrics, MetricsJson } from "../../metrics/metrics.ts";
import type { BannerFacts } from "../banner.ts";
import type { Shutdown } from "../shutdown.ts";

/** The variable that only the supervisor sets, for its workers: the number of the worker, or {@link DRAINS}. */
export const WORKER_VARIABLE = "_OSTIARY_WORKER";
/** The worker serves no requests, but records what an earlier one left in its folder. */
export const DRAINS = "drain";

/** How often a worker tells the supervisor that it runs. */
export const ALIVE_EVERY_MS = 1_000;
/** How long a worker waits for the metrics of all workers. The supervisor waits less for each of them. */
const METRICS_TIMEOUT_MS = 3_000;

/** What a worker sends to the supervisor. */
export type FromWorker =
  /** The worker serves requests, or has drained its folder. */
  | { readonly kind: "ready"; readonly facts: BannerFacts | null }
  /** The worker's event loop turns. */
  | { readonly kind: "alive" }
  /** Another process is the worker's node now, so the worker stops. */
  | { readonly kind: "replaced" }
  /** The worker was asked for the metrics of the service. */
  | { readonly kind: "read metrics"; readonly id: number }
  /** The metrics of the worker itself. */
  | { readonly kind: "metrics"; readonly id: number; readonly metrics: MetricsJson };

/** What the supervisor sends to a worker. */
export type ToWorker =
  | { readonly kind: "collect metrics"; readonly id: number }
  /** The metrics of all workers, each as it sent them. */
  | { readonly kind: "all metrics"; readonly id: number; readonly all: readonly MetricsJson[] };

/** A worker process as its own code sees it: its number, and its connection to the supervisor. */
export type WorkerProcess = NonNullable<ReturnType<typeof workerProcess>>;

/** @returns `null` when the service is this one process, or this is the supervisor. */
export function workerProcess(environment: Readonly<Record<string, string | undefined>>) {
  const name = environment[WORKER_VARIABLE];
  if (name === undefined || process.send === undefined) return null;
  const drains = name === DRAINS;
  return {
    /** From 1. The first worker does what is done once for the service. */
    number: drains ? 0 : Number(name),
    drains,
    /** Tells the supervisor that the worker serves requests, and from then on that it runs. */
    ready: (facts: BannerFacts | null) => {
      send({ kind: "ready", facts });
      setInterval(() => send({ kind: "alive" }), ALIVE_EVERY_MS).unref();
    },
    /** Tells the supervisor that another process is this node now. Otherwise it would start the worker again, which would replace that one. */
    replaced: () => send({ kind: "replaced" }),
    shareMetrics,
    /** Begins the shutdown when the connection to the supervisor is lost. */
    stopWithSupervisor: (shutdown: Shutdown) => {
      // Otherwise node:cluster ends the process at once when the supervisor is gone, and its requests with it.
      if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
      process.on("disconnect", () => shutdown.begin("SIGTERM"));
      // node:cluster tells the supervisor of each connection. If that has just ended, it emits an error, which would end the process.
      cluster.worker?.on("error", () => {});
      // The supervisor passes SIGHUP on. Without a file to read again it would end the process.
      process.on("SIGHUP", () => {});
    },
  };
}

/** Makes `metrics` those of all workers, and lets the supervisor read this worker's. */
function shareMetrics(metrics: Metrics): void {
  const waiting = new Map<number, (all: readonly MetricsJson[]) => void>();
  let count = 0;
  process.on("message", (message: ToWorker) => {
    if (message.kind === "collect metrics") {
      const { id } = message;
      // A worker that does not answer counts with its last answer.
      metrics.json().then(
        (own) => send({ kind: "metrics", id, metrics: own }),
        () => {},
      );
    } else if (message.kind === "all metrics") {
      waiting.get(message.id)?.(message.all);
      waiting.delete(message.id);
    }
  });
  metrics.addUp(() => {
    const id = ++count;
    const answer = new Promise<readonly MetricsJson[]>((resolve) => {
      waiting.set(id, resolve);
      send({ kind: "read metrics", id });
    });
    return withTimeout(METRICS_TIMEOUT_MS, () => answer).finally(() => waiting.delete(id));
  });
}

function send(message: FromWorker): void {
  // Without the supervisor the worker is about to stop.
  if (!process.connected) return;
  // A supervisor that has just ended is an error of the callback. Without one it would end the process.
  process.send?.(message, undefined, undefined, () => {});
}
