import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { programBeside } from "../resources/run-in-worker.ts";

const PROGRAM = programBeside(import.meta.url, "tokenizer-worker");
/** To load the tokenizer takes half a second, and many times as long on a busy machine. */
const TIMEOUT_MS = 30_000;
/** After a failure, the time until the next thread is started: counting without one is cheap. */
const RESTART_MS = 10_000;
/** What the thread may take for new objects. By default it would take as much as the thread of requests. */
const NEW_OBJECTS_MB = 8;

/** A count that the thread is asked for. */
export interface TokenizerTask {
  readonly id: number;
  readonly texts: readonly string[];
}

/** What the thread answers. */
export interface TokenizerResult {
  readonly id: number;
  readonly tokens: number;
}

interface WaitingCount {
  resolve(tokens: number): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

interface TokenizerThreadParts {
  readonly log: Logger;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** The program of the thread, for tests. */
  readonly program?: URL;
}

/**
 * Counts tokens in a thread of its own, which the first count starts: it takes 80 MB and half a second of a processor, during which other
 * requests would wait, and most upstreams count by themselves.
 */
export class TokenizerThread {
  readonly #parts: TokenizerThreadParts;
  readonly #waiting = new Map<number, WaitingCount>();
  #worker: Worker | null = null;
  #lastId = 0;
  #hasCounted = false;
  #nextStartMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TokenizerThreadParts) {
    this.#parts = parts;
  }

  /**
   * The tokens of all texts together.
   *
   * @throws `Error` if the thread can't be started, fails, or does not answer in time, and for some seconds after that.
   */
  count(texts: readonly string[]): Promise<number> {
    return new Promise((resolve, reject) => {
      const worker = this.#running();
      const id = ++this.#lastId;
      const timer = setTimeout(
        () => this.#fail(worker, new Error("the tokenizer did not answer in time")),
        TIMEOUT_MS,
      );
      this.#waiting.set(id, { resolve, reject, timer });
      worker.postMessage({ id, texts } satisfies TokenizerTask);
    });
  }

  /**
   * The service is about to stop: from now on a thread that has counted before is the only one, because a request that is cut off has no time to wait
   * until another one has started.
   */
  startNoMore(): void {
    this.#nextStartMs = Number.POSITIVE_INFINITY;
    if (this.#worker !== null && !this.#hasCounted) this.#end(this.#worker, new Error("the service stops"));
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const { monotonicMs, program = PROGRAM } = this.#parts;
    if (monotonicMs() < this.#nextStartMs)
      throw new Error("the tokenizer has failed a moment ago, or the service stops");
    const worker = this.#started(program);
    worker.on("message", (result: TokenizerResult) => this.#answer(result));
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", () => this.#fail(worker, new Error("the tokenizer has ended")));
    // A service that stops does not wait for it.
    worker.unref();
    this.#worker = worker;
    this.#hasCounted = false;
    return worker;
  }

  /** @throws `Error` when the system has no thread left. */
  #started(program: URL): Worker {
    try {
      return new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: NEW_OBJECTS_MB } });
    } catch (error) {
      this.#report(error);
      throw error;
    }
  }

  /** Logs a failure, and delays the next start. */
  #report(error: unknown): void {
    this.#nextStartMs = Math.max(this.#nextStartMs, this.#parts.monotonicMs() + RESTART_MS);
    this.#parts.log.warn({ err: error }, "tokens are estimated from the length of texts for some seconds");
  }

  #answer({ id, tokens }: TokenizerResult): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#hasCounted = true;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(tokens);
  }

  #fail(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#report(error);
    this.#end(worker, error);
  }

  /** Ends the thread and all counts that wait for it. */
  #end(worker: Worker, error: Error): void {
    this.#worker = null;
    void worker.terminate();
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
  }
}
