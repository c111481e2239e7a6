import type { Reads } from "../database/reads.ts";
import { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";
import type { ResponseStore } from "../responses/response-store.ts";
import { errors, json, KEY_ERRORS, query, type Schema } from "./openapi-parts.ts";
import { jsonReply, type QueryOperation, type QuerySource } from "./operation.ts";
import { requireKnownParameters } from "./query-parameters.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** Clients of OpenAI's API name with it what an answer may contain in addition. Stored responses have all that they can have. */
const INCLUDE = ["include", "include[]"];
/** Parameters of a response that is read as a stream. */
const OF_STREAMS = ["starting_after", "include_obfuscation"];

interface StoredResponses {
  readonly responseStore: ResponseStore;
  readonly reads: Reads;
}

interface ItemPageInput {
  readonly id: string;
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the last item of the page before. */
  readonly after: string | null;
}

/** `GET /v1/responses/{id}`: a stored response. */
export function getResponse({ responseStore, reads }: StoredResponses): QueryOperation<string> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/responses/{id}",
    auth: "key",
    openapi: {
      operationId: "retrieveResponse",
      summary: "A stored response",
      parameters: [ID_PARAMETER, query("stream", { type: "boolean", const: false })],
      responses: { 200: { description: "The response", content: json(RESPONSE) }, ...errors(READ_ERRORS) },
    },
    read: (source) => {
      requireKnown(source, ["stream", ...OF_STREAMS]);
      requireWhole(source.query);
      return idOf(source);
    },
    run: async ({ input: id, accountId }) => {
      const kept = await reads.whole(accountId, ({ run }) => run(() => responseStore.find(accountId, id)));
      if (kept === null) throw responseStore.unknownResponse(id);
      return jsonReply(kept.response);
    },
  };
}

/** `GET /v1/responses/{id}/input_items`: a page of the items of the request that a stored response answers. */
export function listInputItems({ responseStore, reads }: StoredResponses): QueryOperation<ItemPageInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/responses/{id}/input_items",
    auth: "key",
    openapi: {
      operationId: "listInputItems",
      summary: "A page of the input items of a stored response",
      parameters: [
        ID_PARAMETER,
        query("limit", { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
        query("order", { type: "string", enum: ["asc", "desc"], default: "desc" }),
        query("after", { type: "string", description: "The `last_id` of the page before" }),
      ],
      responses: { 200: { description: "The page", content: json(ITEM_PAGE) }, ...errors(READ_ERRORS) },
    },
    read: (source) => {
      requireKnown(source, ["limit", "order", "after"]);
      const { query: sent } = source;
      return { id: idOf(source), limit: readLimit(sent), order: readOrder(sent), after: sent.get("after") };
    },
    run: async ({ input, accountId }) => {
      const { id } = input;
      const kept = await reads.whole(accountId, ({ run }) => run(() => responseStore.find(accountId, id)));
      if (kept === null) throw responseStore.unknownResponse(id);
      return jsonReply(pageOf(kept.input, input));
    },
  };
}

/** `DELETE /v1/responses/{id}`: deletes a stored response and its items. */
export function deleteResponse({ responseStore, reads }: StoredResponses): QueryOperation<string> {
  return {
    kind: "query",
    method: "DELETE",
    path: "/v1/responses/{id}",
    auth: "key",
    openapi: {
      operationId: "deleteResponse",
      summary: "Deletes a stored response and its items",
      parameters: [ID_PARAMETER],
      responses: { 200: { description: "Deleted", content: json(DELETED) }, ...errors(READ_ERRORS) },
    },
    read: (source) => {
      requireKnown(source, []);
      return idOf(source);
    },
    run: async ({ input: id, accountId }) => {
      const isDeleted = await reads.whole(accountId, ({ run }) =>
        run(() => responseStore.delete(accountId, id)),
      );
      if (!isDeleted) throw responseStore.unknownResponse(id);
      return jsonReply({ id, object: "response.deleted", deleted: true });
    },
  };
}

function idOf({ parameters }: QuerySource): string {
  return parameters.id ?? "";
}

function requireKnown({ query: sent }: QuerySource, known: readonly string[]): void {
  const others = new URLSearchParams(sent);
  for (const name of INCLUDE) others.delete(name);
  requireKnownParameters(others, known);
}

/** Stored responses are not streamed again. */
function requireWhole(sent: URLSearchParams): void {
  const stream = sent.get("stream");
  if (stream !== null && stream !== "false") {
    const message = "stream: a stored response is returned as a whole. Leave `stream` out.";
    throw new Failure("invalid_request", message, { param: "stream" });
  }
  const param = OF_STREAMS.find((name) => sent.has(name));
  if (param === undefined) return;
  throw new Failure("invalid_request", `${param}: applies to streams only. Leave it out.`, { param });
}

function readLimit(sent: URLSearchParams): number {
  const text = sent.get("limit");
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  const message = `limit: must be a whole number from 1 to ${MAX_LIMIT}`;
  throw new Failure("invalid_request", message, { param: "limit" });
}

function readOrder(sent: URLSearchParams): "asc" | "desc" {
  const order = sent.get("order") ?? "desc";
  if (order === "asc" || order === "desc") return order;
  throw new Failure("invalid_request", "order: must be `asc` or `desc`", { param: "order" });
}

function pageOf(input: readonly JsonObject[], { limit, order, after }: ItemPageInput) {
  const items = order === "asc" ? input : input.toReversed();
  const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    throw new Failure("invalid_request", "after: the response has no input item of this id", {
      param: "after",
    });
  }
  const data = items.slice(start, start + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < items.length,
  };
}

const READ_ERRORS = [...KEY_ERRORS, "invalid_request", "not_found", "rate_limit_exceeded"] as const;

const ID_PARAMETER: Schema = { name: "id", in: "path", required: true, schema: { type: "string" } };
const idOrNull = { type: ["string", "null"] };

const RESPONSE: Schema = {
  type: "object",
  required: ["id", "object", "output"],
  properties: {
    id: { type: "string" },
    object: { const: "response" },
    output: { type: "array", items: { type: "object" } },
  },
};

const ITEM_PAGE: Schema = {
  type: "object",
  required: ["object", "data", "first_id", "last_id", "has_more"],
  properties: {
    object: { const: "list" },
    data: { type: "array", items: { type: "object" } },
    first_id: idOrNull,
    last_id: idOrNull,
    has_more: { type: "boolean" },
  },
};

const DELETED: Schema = {
  type: "object",
  required: ["id", "object", "deleted"],
  properties: {
    id: { type: "string" },
    object: { const: "response.deleted" },
    deleted: { const: true },
  },
};
