import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import * as z from "zod";
import type { ErrorCode } from "../../../sdk/src/contract/error-codes.ts";
import {
  AUDIT_PAGE_LIMIT,
  type AuditLog,
  type ExportRequest,
  type PageOfEntries,
} from "../audit/audit-log.ts";
import { CSV_FIELDS } from "../audit/entry-sql.ts";
import { type EntryFilter, filterInput, filterOf } from "../audit/filter.ts";
import { publicEntryOf } from "../audit/public-entry.ts";
import { untilEnded } from "../database/reads.ts";
import { toFailure } from "../errors/failure.ts";
import { messageOf } from "../errors/issue-message.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { chooseCoding } from "./content-coding.ts";
import { invalid } from "./invalid-field.ts";
import {
  errors,
  json,
  KEY_ERRORS,
  KEY_OR_TOKEN,
  type OperationDescription,
  page,
  query,
  ref,
  type Schema,
  schemaOf,
} from "./openapi-parts.ts";
import type { QueryOperation, QuerySource } from "./operation.ts";
import { readChoice, readLimit, requireKnownParameters } from "./query-parameters.ts";
import { jsonReply, NO_FACTS } from "./reply.ts";

const AUDIT_ERRORS: readonly ErrorCode[] = [
  ...KEY_ERRORS,
  "invalid_request",
  "invalid_management_token",
  "rate_limit_exceeded",
];
const LIMITS = { default: 100, max: AUDIT_PAGE_LIMIT };
const CSV_HEADER = `${CSV_FIELDS.join(",")}\n`;
const NDJSON_TYPE = "application/x-ndjson; charset=utf-8";
const CSV_TYPE = "text/csv; charset=utf-8";

type AuditPageInput = Omit<PageOfEntries, "reader">;

/** `GET /v1/audit`: a page of the account's audit entries, newest first. */
export function listAuditEntries(auditLog: AuditLog): QueryOperation<AuditPageInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/audit",
    auth: "key-or-management-token",
    openapi: () => ({
      operationId: "listAuditEntries",
      summary: "A page of the account's audit entries, newest first",
      security: KEY_OR_TOKEN,
      parameters: [
        ...filterParameters(),
        query("limit", {
          type: "integer",
          minimum: 1,
          maximum: LIMITS.max,
          default: LIMITS.default,
          description: "The maximum number of entries of the page.",
        }),
        query("cursor", {
          type: "string",
          description: "The `next_cursor` of the previous page, which had the same filters.",
        }),
      ],
      responses: {
        200: { description: "The page", content: json(page(ref("AuditEntry"))) },
        ...errors(AUDIT_ERRORS),
      },
    }),
    read: ({ query: sent }) => {
      requireKnown(sent, ["limit", "cursor"]);
      return { filter: readFilter(sent), cursor: sent.get("cursor"), limit: readLimit(sent, LIMITS) };
    },
    run: async ({ input: { filter, cursor, limit }, accountId, signal }) => {
      const reader = { name: accountId, signal };
      const { entries, nextCursor } = await auditLog.list(accountId, { filter, cursor, limit, reader });
      return jsonReply({
        object: "list",
        data: entries.map(publicEntryOf),
        has_more: nextCursor !== null,
        next_cursor: nextCursor,
      });
    },
  };
}

interface ExportInput extends ExportRequest {
  readonly coding: "gzip" | null;
}

/** `GET /v1/audit/export`: all matching entries of the account, oldest first, streamed. */
export function exportAuditEntries(auditLog: AuditLog): QueryOperation<ExportInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/audit/export",
    auth: "key-or-management-token",
    openapi: describeExport,
    read: readExport,
    run: async ({ input, accountId, signal, requireAllowed }) => {
      const { coding, ...asked } = input;
      const lines = await auditLog.export(accountId, asked);
      const allowed = whileAllowed(lines, requireAllowed);
      // An export that continues an earlier one is appended to the same file.
      const hasHeader = asked.format === "csv" && asked.cursor === null;
      const text = hasHeader ? withHeader(allowed) : allowed;
      const chunks: AsyncIterableIterator<string | Uint8Array> = coding === null ? text : gzipped(text);
      return {
        kind: "stream",
        headers: exportHeaders(input, hasHeader),
        // A generator that is closed before it has reached the lines does not close them.
        chunks: untilEnded(chunks, () => void lines.return?.(), signal),
        last: () => "",
        controlEvents: null,
        facts: async () => NO_FACTS,
        failureOf: toFailure,
      };
    },
  };
}

function describeExport(): OperationDescription {
  return {
    operationId: "exportAuditEntries",
    summary: "All matching audit entries, oldest first; resumes after the cursor of the last line received",
    security: KEY_OR_TOKEN,
    parameters: [
      ...filterParameters(),
      query("format", {
        type: "string",
        enum: ["ndjson", "csv"],
        default: "ndjson",
        description: "Lines of JSON, or a table.",
      }),
      query("cursor", {
        type: "string",
        description:
          "The cursor of the last line received. The other parameters must be those that the export began with. If entries after it were deleted at the end of their retention, the answer is 404.",
      }),
      query("proof", {
        type: "boolean",
        default: false,
        description:
          "Adds lines with a `proof`, so that an export of a part of the log can be verified by itself. Only for `ndjson`.",
      }),
    ],
    responses: {
      200: {
        description:
          "Lines, of which the schema describes one: a line for each entry, and those of the proof; gzip for clients that accept it",
        content: {
          "application/x-ndjson": {
            schema: { anyOf: [ref("ExportedAuditEntry"), ref("ExportProofLine")] },
          },
          "text/csv": { schema: { type: "string" } },
        },
      },
      ...errors([...AUDIT_ERRORS, "not_found"]),
    },
  };
}

function readExport({ query: sent, header }: QuerySource): ExportInput {
  requireKnown(sent, ["format", "cursor", "proof"]);
  const format = readChoice(sent, "format", ["ndjson", "csv"]);
  const isProved = readChoice(sent, "proof", ["false", "true"]) === "true";
  if (isProved && format !== "ndjson") {
    throw invalid(
      "proof",
      "only an export with format=ndjson can have a proof. Omit proof, or export NDJSON.",
    );
  }
  const coding = chooseCoding(header("accept-encoding").join(","), ["gzip"]);
  return { format, filter: readFilter(sent), cursor: sent.get("cursor"), isProved, coding };
}

/** `header` of `text/csv`: RFC 4180, section 3. */
function exportHeaders({ format, coding }: ExportInput, hasHeader: boolean): ResponseHeaders {
  const csvType = `${CSV_TYPE}; header=${hasHeader ? "present" : "absent"}`;
  return {
    "content-type": format === "csv" ? csvType : NDJSON_TYPE,
    "content-disposition": `attachment; filename="audit.${format}"`,
    "cache-control": "no-store",
    vary: "accept-encoding",
    ...(coding === null ? {} : { "content-encoding": coding }),
  };
}

/** The same chunks, as long as their reader may have them: a key may be revoked while its export runs. */
async function* whileAllowed(
  chunks: AsyncIterable<string>,
  requireAllowed: () => Promise<unknown>,
): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    await requireAllowed();
    yield chunk;
  }
}

async function* withHeader(lines: AsyncIterable<string>): AsyncGenerator<string> {
  yield CSV_HEADER;
  yield* lines;
}

async function* gzipped(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  // Reading `gzip` below reports the failure.
  pipeline(Readable.from(chunks), gzip).catch(() => {});
  yield* gzip;
}

const filters = z.object(filterInput);

/** The filters of a query string. @throws {Failure} `invalid_request` naming the parameter. */
export function readFilter(query: URLSearchParams): EntryFilter {
  const given = Object.keys(filterInput).flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const parsed = filters.safeParse(Object.fromEntries(given));
  if (parsed.success) return filterOf(parsed.data);
  const [issue] = parsed.error.issues;
  throw invalid(String(issue?.path[0] ?? "query"), issue === undefined ? "is not valid" : messageOf(issue));
}

/** Requires that a query has only the filters and these parameters. @throws {Failure} as {@link requireKnownParameters}. */
export function requireKnown(query: URLSearchParams, others: readonly string[]): void {
  requireKnownParameters(query, [...Object.keys(filterInput), ...others]);
}

/** The filters as parameters of the OpenAPI document. */
function filterParameters(): readonly Schema[] {
  const { properties } = schemaOf(filters) as { properties: Record<string, Schema> };
  return Object.entries(properties).map(([name, schema]) => query(name, schema));
}
