import { programBeside, runInWorker } from "../resources/run-in-worker.ts";
import type { CatalogParser, CatalogText, Problem } from "./catalog-text.ts";

/** What a worker does: parses the text, or describes its problems if there are any. */
export interface CatalogTask {
  readonly path: string;
  readonly text: string;
  readonly problems: readonly Problem[] | null;
}

const WORKER = programBeside(import.meta.url, "catalog-worker");
/** A catalog of 2,000 models takes half a second. */
const TIMEOUT_MS = 60_000;

/** Parses in a thread of its own, which ends afterwards: a large catalog would delay every request of a running service. */
export const WORKER_PARSER: CatalogParser = {
  parse: async (path, text) => (await inWorker({ path, text, problems: null })) as CatalogText,
  describe: async (path, text, problems) => (await inWorker({ path, text, problems })) as readonly string[],
};

function inWorker(task: CatalogTask): Promise<unknown> {
  return runInWorker(task, { url: WORKER, timeoutMs: TIMEOUT_MS, does: "parses the catalog file" });
}
