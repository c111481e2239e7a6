import type { AccountId } from "../contract/account.ts";
import type { Reads } from "../database/reads.ts";
import type { JsonObject } from "../json/json.ts";
import type { ResponseStore } from "../responses/response-store.ts";
import { invalid } from "./invalid-field.ts";
import { errors, json, KEY_ERRORS, object, parameter, query, ref } from "./openapi-parts.ts";
import type { QueryOperation, QuerySource } from "./operation.ts";
import { readChoice, readLimit, requireKnownParameters } from "./query-parameters.ts";
import { jsonReply } from "./reply.ts";

const LIMITS = { default: 20, max: 100 };
/** Clients of OpenAI's API name with it what an answer may contain in addition. Stored responses have all that they can have. */
const INCLUDE = ["include", "include[]"];
/** Parameters of a response that is read as a stream. */
const OF_STREAMS = ["starting_after", "include_obfuscation"];

const READ_ERRORS = [...KEY_ERRORS, "invalid_request", "not_found", "rate_limit_exceeded"] as const;

const ID_PARAMETER = parameter("path", "id", {
  type: "string",
  description: "The `id` of the response",
});
const idOrNull = { type: ["string", "null"] };
const ITEM_PAGE = object({
  object: { const: "list" },
  data: { type: "array", items: { type: "object" } },
  first_id: idOrNull,
  last_id: idOrNull,
  has_more: { type: "boolean" },
});

const DELETED = object({
  id: { type: "string" },
  object: { const: "response.deleted" },
  deleted: { const: true },
});

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
export function getResponse(parts: StoredResponses): QueryOperation<string> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/responses/{id}",
    auth: "key",
    openapi: () => ({
      operationId: "retrieveResponse",
      summary: "A stored response",
      parameters: [
        ID_PARAMETER,
        query("stream", {
          type: "boolean",
          const: false,
          description: "A stored response is not streamed again",
        }),
      ],
      responses: {
        200: { description: "The response", content: json(ref("ModelResponse")) },
        ...errors(READ_ERRORS),
      },
    }),
    read: (source) => {
      requireKnown(source, ["stream", ...OF_STREAMS]);
      requireWhole(source.query);
      return idOf(source);
    },
    run: async ({ input: id, accountId }) => {
      const { response } = await find(parts, accountId, id);
      return jsonReply(response);
    },
  };
}

/** `GET /v1/responses/{id}/input_items`: a page of the items of the request that a stored response answers. */
export function listInputItems(parts: StoredResponses): QueryOperation<ItemPageInput> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/responses/{id}/input_items",
    auth: "key",
    openapi: () => ({
      operationId: "listInputItems",
      summary: "A page of the input items of a stored response",
      parameters: [
        ID_PARAMETER,
        query("limit", {
          type: "integer",
          minimum: 1,
          maximum: LIMITS.max,
          default: LIMITS.default,
          description: "The maximum number of items of the page",
        }),
        query("order", {
          type: "string",
          enum: ["asc", "desc"],
          default: "desc",
          description: "Oldest item first, or newest",
        }),
        query("after", { type: "string", description: "The `last_id` of the page before" }),
      ],
      responses: { 200: { description: "The page", content: json(ITEM_PAGE) }, ...errors(READ_ERRORS) },
    }),
    read: (source) => {
      requireKnown(source, ["limit", "order", "after"]);
      const { query: sent } = source;
      const limit = readLimit(sent, LIMITS);
      const order = readChoice(sent, "order", ["desc", "asc"]);
      return { id: idOf(source), limit, order, after: sent.get("after") };
    },
    run: async ({ input: asked, accountId }) => {
      const { input } = await find(parts, accountId, asked.id);
      return jsonReply(pageOf(input, asked));
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
    openapi: () => ({
      operationId: "deleteResponse",
      summary: "Deletes a stored response and its items",
      parameters: [ID_PARAMETER],
      responses: { 200: { description: "Deleted", content: json(DELETED) }, ...errors(READ_ERRORS) },
    }),
    read: (source) => {
      requireKnown(source, []);
      return idOf(source);
    },
    run: async ({ input: id, accountId }) => {
      const isDeleted = await reads.inOneSlice(accountId, () => responseStore.delete(accountId, id));
      if (!isDeleted) throw responseStore.unknownResponse(id);
      return jsonReply({ id, object: "response.deleted", deleted: true });
    },
  };
}

async function find({ responseStore, reads }: StoredResponses, accountId: AccountId, id: string) {
  const stored = await reads.inOneSlice(accountId, () => responseStore.find(accountId, id));
  if (stored === null) throw responseStore.unknownResponse(id);
  return stored;
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
    throw invalid("stream", "a stored response is returned as a whole. Leave `stream` out.");
  }
  const param = OF_STREAMS.find((name) => sent.has(name));
  if (param !== undefined) throw invalid(param, "applies to streams only. Leave it out.");
}

function pageOf(input: readonly JsonObject[], { limit, order, after }: ItemPageInput) {
  const items = order === "asc" ? input : input.toReversed();
  const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    throw invalid("after", "the response has no input item of this id");
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
