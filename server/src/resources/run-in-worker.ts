import { Worker } from "node:worker_threads";

/** A thread that does one task and ends. */
interface WorkerProgram {
  /** The program. It gets the task as its `workerData`, and posts the result. */
  readonly url: URL;
  /** After this time the thread is ended. */
  readonly timeoutMs: number;
  /** What the worker does, for errors, such as `hashes a password`. */
  readonly does: string;
}

/**
 * Where the program of a thread is: beside the module that starts it, both in the sources and in the build.
 *
 * @param moduleUrl the `import.meta.url` of that module.
 * @param name the program's file, without its extension.
 */
export function programBeside(moduleUrl: string, name: string): URL {
  return new URL(`${name}.${moduleUrl.endsWith(".ts") ? "ts" : "js"}`, moduleUrl);
}

/**
 * Has a task done in a thread of its own, so that requests do not wait for it.
 *
 * @returns what the program has posted.
 * @throws what the program throws, or an `Error` if it ends, or is ended, without a result.
 */
export function runInWorker(task: object, { url, timeoutMs, does }: WorkerProgram): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(url, { workerData: task });
    const timer = setTimeout(() => void worker.terminate(), timeoutMs);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => {
      clearTimeout(timer);
      reject(new Error(`the worker that ${does} has ended without an answer`));
    });
  });
}
