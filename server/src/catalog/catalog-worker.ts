// Parses the text of a catalog file, or describes its problems, in a thread of its own: see worker-parser.ts.
import { parentPort, workerData } from "node:worker_threads";
import { CATALOG_PARSER } from "./catalog-text.ts";
import type { CatalogTask } from "./worker-parser.ts";

const { path, text, problems }: CatalogTask = workerData;
parentPort?.postMessage(
  problems === null
    ? await CATALOG_PARSER.parse(path, text)
    : await CATALOG_PARSER.describe(path, text, problems),
);
