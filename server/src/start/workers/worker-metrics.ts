import { resultWithin } from "../../errors/deadline.ts";
import { addedUp, type MetricsJson } from "../../metrics/metrics.ts";

/** A worker that does not answer in this time counts with its last answer. */
const WORKER_TIMEOUT_MS = 2_000;

const COUNTS = new Set(["counter", "histogram"]);

/** The part of a worker that the collection of metrics uses. */
interface MeasuredWorker {
  /** Asks it for its metrics. Its answer carries the id. */
  collect(id: number): void;
}

/**
 * Collects the metrics of all workers. What a worker had counted when it was last asked is kept when it ends, because a sum that
 * becomes smaller would look like a restart of the service.
 */
export class WorkerMetrics {
  readonly #last = new Map<MeasuredWorker, MetricsJson>();
  /** The workers that were asked, by the id of the question, each with the function that ends the wait for its answer. */
  readonly #asked = new Map<number, { readonly worker: MeasuredWorker; readonly answered: () => void }>();
  /** The counts of workers that have ended. */
  #ended: readonly MetricsJson[] = [];
  #adding: Promise<void> = Promise.resolve();
  #count = 0;

  /** Returns the metrics of these workers, and what earlier ones counted. */
  async collect(workers: readonly MeasuredWorker[]): Promise<readonly MetricsJson[]> {
    await Promise.all(workers.map((worker) => this.#ask(worker)));
    return [...this.#last.values(), ...this.#ended];
  }

  /** A worker has answered. */
  answered(id: number, metrics: MetricsJson): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#last.set(asked.worker, metrics);
    asked.answered();
  }

  /** A worker has ended. Its counters and histograms are kept, its gauges are dropped, and its pending answers are no longer awaited. */
  ended(worker: MeasuredWorker): void {
    for (const [id, asked] of this.#asked) {
      if (asked.worker !== worker) continue;
      this.#asked.delete(id);
      asked.answered();
    }
    const last = this.#last.get(worker);
    if (last === undefined) return;
    this.#last.delete(worker);
    // prom-client's types declare a number here, but its values are words.
    const counts = last.filter(({ type }) => COUNTS.has(String(type)));
    this.#ended = [...this.#ended, counts];
    // Counts that could not be added up are added at the next end.
    this.#adding = this.#adding.then(() => this.#addUp()).catch(() => {});
  }

  async #addUp(): Promise<void> {
    const parts = this.#ended;
    const sum = await addedUp(parts).getMetricsAsJSON();
    this.#ended = [sum, ...this.#ended.slice(parts.length)];
  }

  async #ask(worker: MeasuredWorker): Promise<void> {
    const id = ++this.#count;
    const answer = new Promise<void>((resolve) => this.#asked.set(id, { worker, answered: resolve }));
    worker.collect(id);
    await resultWithin(WORKER_TIMEOUT_MS, answer);
    this.#asked.delete(id);
  }
}
