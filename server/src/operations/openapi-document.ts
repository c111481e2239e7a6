import { z } from "zod";
import { AUDIT_FIELD_LIST, type AuditFieldKind } from "../../../sdk/src/contract/audit-entry.ts";
import { END_REASONS, USAGE_SOURCES } from "../../../sdk/src/contract/audit-words.ts";
import { ERROR_CODES, type ErrorCode } from "../../../sdk/src/contract/error-codes.ts";
import { AUDIT_PAGE_LIMIT } from "../audit/audit-log.ts";
import { filterInput } from "../audit/filter.ts";
import { chatBody } from "./chat-body.ts";
import { embeddingsBody } from "./embeddings.ts";
import { JSON_HEADERS, NO_FACTS, type PublicOperation } from "./operation.ts";

type Schema = Readonly<Record<string, unknown>>;

/** What may go wrong with any request that carries a key. */
const ALWAYS: readonly ErrorCode[] = [
  "invalid_api_key",
  "revoked_api_key",
  "account_suspended",
  "ip_blocked",
  "internal_error",
  "server_is_overloaded",
];
const OF_MODELS: readonly ErrorCode[] = [
  "invalid_json",
  "invalid_request",
  "context_length_exceeded",
  "credit_balance_exhausted",
  "model_not_found",
  "request_timeout",
  "idempotency_key_in_use",
  "idempotent_answer_gone",
  "request_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "rate_limit_exceeded",
  "too_many_concurrent_requests",
  "upstream_error",
  "upstream_timeout",
];

/**
 * `GET /v1/openapi.json`: the contract, for anyone.
 *
 * @param document known once the service knows its own address.
 */
export function getOpenApi(document: () => object): PublicOperation {
  return {
    kind: "public",
    method: "GET",
    path: "/v1/openapi.json",
    isServed: true,
    run: async () => {
      const headers = { ...JSON_HEADERS, "access-control-allow-origin": "*" };
      return { kind: "whole", headers, body: JSON.stringify(document()), facts: NO_FACTS };
    },
  };
}

/**
 * The contract of everything under `/v1` (OpenAPI 3.1), made from the schemas that requests are checked by and the one table
 * of error codes.
 */
export function openApiDocument(service: {
  readonly name: string;
  readonly version: string;
  readonly url: string;
}): Schema {
  return {
    openapi: "3.1.0",
    info: {
      title: service.name,
      version: service.version,
      description:
        "One API key for every model of the catalog. Any OpenAI client works with this base URL. What answers GET answers HEAD.",
    },
    servers: [{ url: service.url }],
    security: [{ key: [] }],
    paths: {
      "/v1/chat/completions": {
        post: {
          operationId: "createChatCompletion",
          summary: "A chat completion; with `stream` as server-sent events that end with `data: [DONE]`",
          parameters: [IDEMPOTENCY_KEY],
          requestBody: body(schemaOf(chatBody.schema)),
          responses: {
            200: {
              description: "As OpenAI's chat completions; `model` is the catalog's id",
              headers: RATE_HEADERS,
              content: {
                "application/json": { schema: { type: "object" } },
                "text/event-stream": { schema: { type: "string" } },
              },
            },
            ...errors([...ALWAYS, ...OF_MODELS]),
          },
        },
      },
      "/v1/embeddings": {
        post: {
          operationId: "createEmbeddings",
          summary: "Embeds texts",
          parameters: [IDEMPOTENCY_KEY],
          requestBody: body(schemaOf(embeddingsBody.schema)),
          responses: {
            200: {
              description: "As OpenAI's embeddings",
              headers: RATE_HEADERS,
              content: json({ type: "object" }),
            },
            ...errors([...ALWAYS, ...OF_MODELS]),
          },
        },
      },
      "/v1/models": {
        get: {
          operationId: "listModels",
          summary: "The catalog; also a check of key and connectivity",
          responses: {
            200: { description: "The models", content: json(list(ref("Model"))) },
            ...errors(ALWAYS),
          },
        },
      },
      "/v1/models/{id}": {
        get: {
          operationId: "retrieveModel",
          summary: "One model, by id or alias; ids may hold slashes",
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          responses: {
            200: { description: "The model", content: json(ref("Model")) },
            ...errors([...ALWAYS, "model_not_found"]),
          },
        },
      },
      "/v1/audit": {
        get: {
          operationId: "listAuditEntries",
          summary: "A page of the account's audit entries, newest first",
          security: [{ key: [] }, { managementToken: [] }],
          parameters: [
            ...filters(),
            query("limit", { type: "integer", minimum: 1, maximum: AUDIT_PAGE_LIMIT, default: 100 }),
            query("cursor", { type: "string" }),
          ],
          responses: {
            200: { description: "The page", content: json(list(ref("AuditEntry"))) },
            ...errors([...ALWAYS, "invalid_request", "invalid_management_token"]),
          },
        },
      },
      "/v1/audit/export": {
        get: {
          operationId: "exportAuditEntries",
          summary:
            "All matching audit entries, oldest first; resumes after the cursor of the last line that has come",
          security: [{ key: [] }, { managementToken: [] }],
          parameters: [
            ...filters(),
            query("format", { type: "string", enum: ["ndjson", "csv"], default: "ndjson" }),
            query("cursor", { type: "string" }),
          ],
          responses: {
            200: {
              description: "A line for each entry; gzip for clients that accept it",
              content: {
                "application/x-ndjson": { schema: ref("AuditEntry") },
                "text/csv": { schema: { type: "string" } },
              },
            },
            ...errors([...ALWAYS, "invalid_request", "invalid_management_token"]),
          },
        },
      },
    },
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "An API key, `sk-…`" },
        managementToken: { type: "http", scheme: "bearer", description: "A management token, `mt-…`" },
      },
      schemas: { Error: ERROR, Model: MODEL, AuditEntry: AUDIT_ENTRY },
    },
  };
}

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Sent again within 24 hours with the same body, the request is answered alike and charged once",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

const RATE_HEADERS: Schema = Object.fromEntries(
  ["limit", "remaining", "reset"].flatMap((what) =>
    ["requests", "tokens"].map((of) => [
      `x-ratelimit-${what}-${of}`,
      { schema: { type: what === "reset" ? "string" : "integer" } },
    ]),
  ),
);

const ERROR: Schema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message: { type: "string" },
        type: { enum: [...new Set(Object.values(ERROR_CODES).map(({ type }) => type))] },
        param: { type: ["string", "null"], description: "The request field at fault" },
        code: { enum: Object.keys(ERROR_CODES) },
      },
    },
  },
};

const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const countOrNull = { type: ["integer", "null"] };

const MODEL: Schema = {
  type: "object",
  required: ["id", "object", "created", "owned_by"],
  properties: {
    id: text,
    object: { const: "model" },
    created: { type: "integer", description: "Unix seconds" },
    owned_by: text,
    sandbox: { type: "boolean" },
    aliases: { type: "array", items: text },
    context_tokens: countOrNull,
    max_output_tokens: countOrNull,
    modalities: {
      type: "object",
      properties: { input: { type: "array", items: text }, output: { type: "array", items: text } },
    },
    pricing: {
      type: ["object", "null"],
      description: "Decimal US dollars; null: not charged for",
      properties: {
        input_usd_per_mtok: text,
        cached_input_usd_per_mtok: text,
        output_usd_per_mtok: text,
        image_usd: text,
      },
    },
  },
};

const OF_KIND: Readonly<Record<AuditFieldKind, Schema>> = {
  id: text,
  text,
  time: { type: "string", format: "date-time" },
  integer: { type: "integer" },
  count: { type: "integer" },
  money: { type: "integer" },
  address: text,
  error_code: text,
  end_reason: { enum: END_REASONS },
  usage_source: { enum: USAGE_SOURCES },
};

const AUDIT_ENTRY: Schema = {
  type: "object",
  properties: Object.fromEntries(
    AUDIT_FIELD_LIST.map(([name, { kind, nullable }]) => {
      const schema = OF_KIND[kind];
      return [name, nullable === true ? { ...schema, type: [schema.type, "null"] } : schema];
    }),
  ),
};

function schemaOf(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

function filters(): readonly Schema[] {
  const schema = schemaOf(z.object(filterInput)) as { properties: Record<string, Schema> };
  return Object.entries(schema.properties).map(([name, of]) => query(name, of));
}

function query(name: string, schema: Schema): Schema {
  return { name, in: "query", schema };
}

function body(schema: Schema): Schema {
  return { required: true, content: json(schema) };
}

function json(schema: Schema): Schema {
  return { "application/json": { schema } };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function list(items: Schema): Schema {
  return {
    type: "object",
    required: ["object", "data"],
    properties: {
      object: { const: "list" },
      data: { type: "array", items },
      has_more: { type: "boolean" },
      next_cursor: textOrNull,
    },
  };
}

/** One answer for each status, with the codes that it may have. */
function errors(codes: readonly ErrorCode[]): Schema {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERROR_CODES[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      { description: of.map((code) => `\`${code}\``).join(", "), content: json(ref("Error")) },
    ]),
  );
}
