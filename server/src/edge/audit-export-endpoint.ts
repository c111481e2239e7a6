import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { AuditLog, ExportFormat } from "../audit/audit-log.ts";
import { CSV_FIELDS } from "../audit/entry-sql.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import { readFilter, requireKnown } from "./audit-query.ts";
import { chooseCoding } from "./content-coding.ts";
import { type Endpoint, type EndpointRequest, NO_FACTS, type Reply } from "./endpoint.ts";
import { exactPath } from "./routing.ts";

const CSV_HEADER = `${CSV_FIELDS.join(",")}\n`;
const TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: "application/x-ndjson; charset=utf-8",
  csv: "text/csv; charset=utf-8; header=present",
};

/** `GET /v1/audit/export`: all matching entries of the account, oldest first, streamed. */
export class AuditExportEndpoint implements Endpoint {
  readonly method = "GET";
  readonly name = "GET /v1/audit/export";
  readonly openedBy = "key-or-management-token";
  readonly match = exactPath("/v1/audit/export");
  readonly #auditLog: AuditLog;

  constructor(auditLog: AuditLog) {
    this.#auditLog = auditLog;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    const { query } = request.exchange;
    requireKnown(query, ["format", "cursor"]);
    const format = readFormat(query.get("format"));
    const filter = readFilter(query);
    const cursor = query.get("cursor");
    const accountId = await request.confirm();
    const lines = await this.#auditLog.export(accountId, format, filter, cursor);
    // What goes on where another export was cut goes into the same file.
    const chunks = format === "csv" && cursor === null ? withHeader(CSV_HEADER, lines) : lines;
    const coding = chooseCoding(request.exchange.header("accept-encoding").join(","), ["gzip"]);
    return {
      kind: "stream",
      headers: {
        "content-type": TYPES[format],
        "content-disposition": `attachment; filename="audit.${format}"`,
        "cache-control": "no-store",
        vary: "accept-encoding",
        ...(coding === null ? {} : { "content-encoding": coding }),
      },
      chunks: coding === null ? chunks : gzipped(chunks),
      lastChunk: "",
      atFailure: "abort",
      facts: async () => NO_FACTS,
      failureOf: toFailure,
    };
  }
}

function readFormat(text: string | null): ExportFormat {
  if (text === null || text === "ndjson") return "ndjson";
  if (text === "csv") return "csv";
  throw new Failure("invalid_request", "format: must be ndjson or csv", { param: "format" });
}

async function* withHeader(header: string, lines: AsyncIterable<string>): AsyncGenerator<string> {
  yield header;
  yield* lines;
}

async function* gzipped(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  // Its failure is that of `gzip`, which is read below.
  pipeline(Readable.from(chunks), gzip).catch(() => {});
  yield* gzip;
}
