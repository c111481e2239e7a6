// At most ten lines: the whole audit log as CSV, whatever happens to the service meanwhile.

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import Ostiary from "../../sdk/dist/index.js";

const file = createWriteStream(process.argv[2]);
const log = new Ostiary({ maxRetries: 20 }).audit.export({ format: "csv" }, { maxResumptions: 20 });
for await (const text of log.text()) if (!file.write(text)) await once(file, "drain");
file.end();
