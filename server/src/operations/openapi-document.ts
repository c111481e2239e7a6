import { AUDIT_FIELD_LIST, type AuditFieldKind } from "../../../sdk/src/contract/audit-entry.ts";
import { END_REASONS, USAGE_SOURCES } from "../../../sdk/src/contract/audit-enums.ts";
import { ERROR_CODES } from "../../../sdk/src/contract/error-codes.ts";
import { MESSAGES_ERROR_TYPES } from "../errors/messages-error.ts";
import { headerComponents, withHeaders } from "./described-headers.ts";
import { FIELD_DESCRIPTIONS } from "./field-descriptions.ts";
import { PRICE_FIELDS } from "./models.ts";
import { MODEL_ANSWERS } from "./openapi-answers.ts";
import { object, type Schema } from "./openapi-parts.ts";
import type { Operation, PublicOperation } from "./operation.ts";
import { JSON_HEADERS, NO_FACTS } from "./reply.ts";

/** The groups of operations, by the first segment of their paths after `/v1/`. */
const TAGS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  chat: {
    name: "Chat completions",
    description: "OpenAI's Chat Completions, for every model of the catalog.",
  },
  responses: { name: "Responses", description: "OpenAI's Responses, for every model of the catalog." },
  messages: { name: "Messages", description: "Anthropic's Messages, for every model of the catalog." },
  embeddings: { name: "Embeddings", description: "Vectors of texts." },
  models: { name: "Models", description: "The models that a key can use." },
  audit: { name: "Audit log", description: "The entries of requests, to read and to export." },
  keys: { name: "API keys", description: "Keys are created, rotated and revoked with a management token." },
  usage: { name: "Usage", description: "Requests, tokens and cost over time." },
  account: { name: "Account", description: "The account, its limits and its audit trail." },
  credits: { name: "Credits", description: "The account's balance and ledger." },
};

const text = { type: "string" };

/** A schema with what the SDK's types say about the field. */
function described(of: keyof typeof FIELD_DESCRIPTIONS, name: string, schema: Schema): Schema {
  const description = FIELD_DESCRIPTIONS[of][name];
  return description === undefined ? schema : { ...schema, description };
}

const ERROR = object({
  error: object({
    message: { ...text, description: "What is wrong and what to do, for people" },
    type: {
      enum: [...new Set(Object.values(ERROR_CODES).map(({ type }) => type))],
      description: "The kind of the error, as OpenAI's API has it",
    },
    param: { type: ["string", "null"], description: "The request field at fault; `null`: none" },
    code: { enum: Object.keys(ERROR_CODES), description: "What is wrong, for programs" },
  }),
});

const MESSAGES_ERROR = object({
  type: { const: "error" },
  error: {
    type: "object",
    required: ["type", "message"],
    properties: { type: { enum: MESSAGES_ERROR_TYPES }, message: text, details: { type: "object" } },
  },
  request_id: text,
});

const countOrNull = { type: ["integer", "null"] };
/** US dollars. */
const price = { ...text, pattern: "^\\d+(\\.\\d{1,9})?$" };

const MODEL_PROPERTIES: Readonly<Record<string, Schema>> = {
  id: text,
  object: { const: "model" },
  created: { type: "integer" },
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
    properties: Object.fromEntries(
      Object.keys(PRICE_FIELDS).map((name) => [name, described("ModelPricing", name, price)]),
    ),
  },
};

const MODEL: Schema = {
  type: "object",
  required: ["id", "object", "created", "owned_by"],
  properties: Object.fromEntries(
    Object.entries(MODEL_PROPERTIES).map(([name, schema]) => [name, described("Model", name, schema)]),
  ),
};

const OF_KIND: Readonly<Record<AuditFieldKind, Schema>> = {
  id: text,
  text,
  time: { type: "string", format: "date-time" },
  integer: { type: "integer", minimum: 0 },
  count: { type: "integer", minimum: 0 },
  money: { type: "integer", minimum: 0 },
  address: text,
  error_code: text,
  end_reason: { enum: END_REASONS },
  usage_source: { enum: USAGE_SOURCES },
};

const auditProperties: Readonly<Record<string, Schema>> = Object.fromEntries(
  AUDIT_FIELD_LIST.map(([name, { kind, nullable }]) => {
    const schema = OF_KIND[kind];
    return [
      name,
      described("AuditEntry", name, nullable === true ? { ...schema, type: [schema.type, "null"] } : schema),
    ];
  }),
);

const exportCursor = {
  ...text,
  description: "Pass it as `cursor` to resume the export after this line, with the same other parameters",
};
const digest = { ...text, description: "SHA-256, in hexadecimal" };

/** The lines of an export in NDJSON. */
const AUDIT_EXPORT_LINES = {
  ExportedAuditEntry: object({
    ...auditProperties,
    chain: {
      type: "object",
      description: "The batch in which the entry was recorded",
      required: ["batch", "entries", "digest"],
      properties: {
        batch: { type: "integer", description: "The number of the batch, from 1" },
        entries: { type: "integer", description: "The number of entries in the batch" },
        digest,
        part: {
          type: "boolean",
          description:
            "`true`: the export may lack entries of the batch, because a period or a filter limits it and it has no proof",
        },
      },
    },
    cursor: exportCursor,
  }),
  ExportProofLine: object({
    proof: {
      type: "object",
      description:
        "With `proof=true`: what was exported (`export`), what was left out of a batch (`batch`), or the end of the proof (`end`)",
    },
    cursor: exportCursor,
  }),
};

/** A line of an export of actions. */
const EXPORTED_ACTION = object({
  action: { type: "object", description: "The change, byte for byte what its digest covers" },
  about: object({
    user_email: { type: ["string", "null"], description: "The e-mail address of the author" },
    account_name: { type: ["string", "null"], description: "The name of the account" },
  }),
  chain: object({
    position: { type: "integer", description: "The position in the chain, from 1" },
    digest,
  }),
});

/**
 * The contract of everything under `/v1` (OpenAPI 3.1): what each operation says of itself, with the schemas that validate its
 * requests, and the one table of error codes.
 */
export function openApiDocument(
  operations: readonly Operation[],
  service: { readonly name: string; readonly version: string; readonly url: string },
): Schema {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas = {
    Error: ERROR,
    MessagesError: MESSAGES_ERROR,
    Model: MODEL,
    AuditEntry: object(auditProperties),
    ...AUDIT_EXPORT_LINES,
    ExportedAction: EXPORTED_ACTION,
    ...MODEL_ANSWERS,
  };
  for (const operation of operations) {
    const { method, path, openapi } = operation;
    if (openapi === null) continue;
    const { schemas: own, responses, ...rest } = openapi();
    const description = { ...rest, responses: withHeaders(operation, responses) };
    Object.assign(schemas, own);
    const tags = [TAGS[path.split("/")[2] ?? ""]?.name ?? "Other"];
    paths[path] = { ...paths[path], [method.toLowerCase()]: { tags, ...description } };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: service.name,
      version: service.version,
      description:
        "One API key for every model of the catalog. Any OpenAI client works with this base URL. Every path that supports GET supports HEAD.",
    },
    servers: [{ url: service.url }],
    security: [{ key: [] }],
    tags: Object.values(TAGS),
    paths,
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "An API key, `sk-…`" },
        anthropicKey: {
          type: "apiKey",
          in: "header",
          name: "x-api-key",
          description: "An API key, `sk-…`, as Anthropic's clients send it",
        },
        managementToken: { type: "http", scheme: "bearer", description: "A management token, `mt-…`" },
      },
      headers: headerComponents(),
      schemas,
    },
  };
}

/**
 * `GET /v1/openapi.json`: the contract, for anyone. It is written once, because clients need no key to ask for it.
 *
 * @param url the service's own address, which it learns after it has begun to listen.
 */
export function getOpenApi(url: () => string, document: () => object): PublicOperation {
  let written: { readonly url: string; readonly body: string } | null = null;
  return {
    kind: "public",
    method: "GET",
    path: "/v1/openapi.json",
    openapi: null,
    run: async () => {
      const headers = { ...JSON_HEADERS, "access-control-allow-origin": "*", "cache-control": "no-cache" };
      if (written?.url !== url()) written = { url: url(), body: JSON.stringify(document()) };
      return { kind: "whole", headers, body: written.body, facts: NO_FACTS, isShared: true };
    },
  };
}
