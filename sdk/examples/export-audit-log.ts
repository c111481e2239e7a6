// Writes the audit log to a file, which can be continued after an interruption, and verifies what was written.
import { createReadStream, createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import Ostiary, { verifyAuditExport } from "ostiary";

const client = new Ostiary();
const file = process.argv[2] ?? "audit.ndjson";

const entries = client.audit.export(
  { format: "ndjson" },
  { onProgress: ({ lines, resumptions }) => console.error(lines, "entries,", resumptions, "interruptions") },
);
await pipeline(Readable.from(entries.text()), createWriteStream(file));
console.log("entries:", entries.progress.lines);

// The service verifies its log, and knows how many batches it has deleted at the end of their retention. The file is verified without it.
const { removedBatches } = await client.audit.verify();
const lines = createInterface({ input: createReadStream(file) });
const { ok, problems, head } = await verifyAuditExport(lines, { removedBatches });
console.log("complete and unmodified:", ok, problems);
// Keep the head: a later export must contain it.
console.log("head:", head === null ? "none" : `${head.batch}:${head.digest}`);
process.exitCode = ok ? 0 : 3;
