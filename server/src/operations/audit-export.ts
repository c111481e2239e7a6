import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { AuditLog, ExportFormat } from "../audit/audit-log.ts";
import { CSV_FIELDS } from "../audit/entry-sql.ts";
import type { EntryFilter } from "../audit/filter.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import { AUDIT_ERRORS, filterParameters, readFilter, requireKnown } from "./audit-query.ts";
import { chooseCoding } from "./content-coding.ts";
import { errors, KEY_OR_TOKEN, query, ref } from "./openapi-parts.ts";
import { NO_FACTS, type QueryOperation } from "./operation.ts";

const CSV_HEADER = `${CSV_FIELDS.join(",")}\n`;
const TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: "application/x-ndjson; charset=utf-8",
  csv: "text/csv; charset=utf-8; header=present",
};

interface ExportInput {
  readonly format: ExportFormat;
  readonly filter: EntryFilter;
  /** Where an earlier export ended. */
  readonly cursor: string | null;
  /** Whether to add what proves a part of the log. */
  readonly isProved: boolean;
  readonly coding: "gzip" | null;
}

/** `GET /v1/audit/export`: all matching entries of the account, oldest first, streamed. */
export function exportAuditEntries(auditLog: AuditLog): QueryOperation<ExportInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/audit/export",
    auth: "key-or-management-token",
    openapi: {
      operationId: "exportAuditEntries",
      summary: "All matching audit entries, oldest first; resumes after the cursor of the last line received",
      security: KEY_OR_TOKEN,
      parameters: [
        ...filterParameters(),
        query("format", { type: "string", enum: ["ndjson", "csv"], default: "ndjson" }),
        query("cursor", { type: "string" }),
        query("proof", {
          type: "boolean",
          default: false,
          description:
            "Adds lines with a `proof`, so that an export of a part of the log can be verified by itself. Only for `ndjson`.",
        }),
      ],
      responses: {
        200: {
          description: "A line for each entry; gzip for clients that accept it",
          content: {
            "application/x-ndjson": { schema: ref("AuditEntry") },
            "text/csv": { schema: { type: "string" } },
          },
        },
        ...errors(AUDIT_ERRORS),
      },
    },
    read: ({ query: sent, header }) => {
      requireKnown(sent, ["format", "cursor", "proof"]);
      const format = readFormat(sent.get("format"));
      const coding = chooseCoding(header("accept-encoding").join(","), ["gzip"]);
      const isProved = readProof(sent.get("proof"), format);
      return { format, filter: readFilter(sent), cursor: sent.get("cursor"), isProved, coding };
    },
    run: async ({ input: { format, filter, cursor, isProved, coding }, accountId }) => {
      const lines = await auditLog.export(accountId, format, filter, cursor, isProved);
      // An export that continues an earlier one is appended to the same file.
      const chunks = format === "csv" && cursor === null ? withHeader(CSV_HEADER, lines) : lines;
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
        last: () => "",
        signs: null,
        facts: async () => NO_FACTS,
        failureOf: toFailure,
      };
    },
  };
}

function readFormat(text: string | null): ExportFormat {
  if (text === null || text === "ndjson") return "ndjson";
  if (text === "csv") return "csv";
  throw new Failure("invalid_request", "format: must be ndjson or csv", { param: "format" });
}

function readProof(text: string | null, format: ExportFormat): boolean {
  if (text === null || text === "false") return false;
  if (text !== "true")
    throw new Failure("invalid_request", "proof: must be true or false", { param: "proof" });
  if (format === "ndjson") return true;
  throw new Failure(
    "invalid_request",
    "proof: only an export with format=ndjson can have a proof. Omit proof, or export NDJSON.",
    { param: "proof" },
  );
}

async function* withHeader(header: string, lines: AsyncIterable<string>): AsyncGenerator<string> {
  yield header;
  yield* lines;
}

async function* gzipped(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  // Reading `gzip` below reports the failure.
  pipeline(Readable.from(chunks), gzip).catch(() => {});
  yield* gzip;
}
