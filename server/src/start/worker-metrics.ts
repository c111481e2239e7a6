import { resultWithin } from "../errors/deadline.ts";
import { addedUp, type MetricsJson } from "../metrics/metrics.ts";

/** A worker that does not answer in this time counts with its last answer. */
const ANSWER_TIMEOUT_MS = 2_000;

const COUNTS = new Set(["counter", "histogram"]);

/** A worker, as far as its metrics go. */
export interface MeasuredWorker {
  /** Asks it for its metrics. Its answer carries the id. */
  collect(id: number): void;
}

/**
 * Collects the metrics of all workers. What a worker had counted when it was last asked is kept when it ends, because a sum that
 * becomes smaller would look like a restart of the service.
 */
export class WorkerMetrics {
  readonly #last = new Map<MeasuredWorker, MetricsJson>();
  readonly #waiting = new Map<number, (metrics: MetricsJson) => void>();
  /** The counts of workers that have ended. */
  #ended: MetricsJson = [];
  #count = 0;

  /** Returns the metrics of these workers, and what earlier ones counted. */
  async collect(workers: readonly MeasuredWorker[]): Promise<readonly MetricsJson[]> {
    await Promise.all(workers.map((worker) => this.#ask(worker)));
    return [...this.#last.values(), this.#ended];
  }

  /** A worker has answered. */
  answered(id: number, metrics: MetricsJson): void {
    this.#waiting.get(id)?.(metrics);
  }

  /** A worker has ended: its counts stay, and what it was doing is over. */
  async ended(worker: MeasuredWorker): Promise<void> {
    const last = this.#last.get(worker);
    if (last === undefined) return;
    this.#last.delete(worker);
    // The types of prom-client have numbers here; its values are words.
    const counts = last.filter(({ type }) => COUNTS.has(String(type)));
    this.#ended = await addedUp([this.#ended, counts]).getMetricsAsJSON();
  }

  async #ask(worker: MeasuredWorker): Promise<void> {
    const id = ++this.#count;
    const answer = new Promise<MetricsJson>((resolve) => this.#waiting.set(id, resolve));
    worker.collect(id);
    const metrics = await resultWithin(ANSWER_TIMEOUT_MS, answer);
    this.#waiting.delete(id);
    if (metrics !== null) this.#last.set(worker, metrics);
  }
}
