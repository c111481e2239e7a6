import type { Catalog, CatalogModel } from "../catalog/catalog.ts";
import { type ModelPrices, usdOf } from "../catalog/prices.ts";
import { Failure } from "../errors/failure.ts";
import { invalid } from "./invalid-field.ts";
import {
  errorsOfBoth,
  json,
  KEY_ERRORS,
  list,
  MESSAGES_CREDENTIALS,
  messagesErrors,
  object,
  parameter,
  query,
  ref,
  type Schema,
} from "./openapi-parts.ts";
import type { QueryOperation, QuerySource } from "./operation.ts";
import { readLimit } from "./query-parameters.ts";
import { factsWithoutUsage, JSON_HEADERS, jsonReply, NO_FACTS } from "./reply.ts";

const LIMITS = { default: 20, max: 1_000 };

/** The header by which clients of Anthropic's API are known. */
const VERSION = parameter("header", "anthropic-version", {
  type: "string",
  description: "With any value, the answer has the form of Anthropic's API",
});
const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const SCHEMAS: Readonly<Record<string, Schema>> = {
  MessagesModel: object({
    type: { const: "model" },
    id: { type: "string", description: "An id or an alias" },
    display_name: { type: "string", description: "The id of the model" },
    created_at: { type: "string", format: "date-time" },
    max_input_tokens: { type: ["integer", "null"], description: "Tokens of the context" },
    max_tokens: { type: ["integer", "null"], description: "Maximum tokens of an answer" },
    lifecycle: { const: "active" },
    deprecated_at: { type: "null" },
    retires_at: { type: "null" },
    capabilities: { type: "null", description: "They are not known" },
    line: { type: "null", description: "Only Anthropic's models have one" },
  }),
  MessagesModels: object({
    data: { type: "array", items: ref("MessagesModel") },
    has_more: { type: "boolean" },
    first_id: textOrNull,
    last_id: textOrNull,
  }),
};

/** A page of the models, as Anthropic's clients ask for it. */
interface MessagesModelsPage {
  readonly limit: number;
  readonly afterId: string | null;
  readonly beforeId: string | null;
}

/** How a client wants the models: as OpenAI's clients, as Codex, or a page of Anthropic's. */
type ListForm =
  | { readonly kind: "openai" }
  | { readonly kind: "codex" }
  | { readonly kind: "messages"; readonly page: MessagesModelsPage };

/**
 * `GET /v1/models`: the catalog, in OpenAI's form with further fields, or in that of Anthropic's API for its clients. Codex sends `client_version`,
 * and expects its own descriptions of models in `models`. Without any it uses its built-in ones.
 */
export function listModels(catalog: Catalog): QueryOperation<ListForm> {
  // The lists of each catalog, as text: a catalog of thousands of models takes tens of milliseconds to write.
  const written = new WeakMap<readonly CatalogModel[], Map<"openai" | "codex", string>>();
  const textOf = (kind: "openai" | "codex"): string => {
    const { models } = catalog;
    const texts = written.get(models) ?? new Map<"openai" | "codex", string>();
    written.set(models, texts);
    const known = texts.get(kind);
    if (known !== undefined) return known;
    const list = { object: "list", data: models.map(publicView) };
    const text = JSON.stringify(kind === "codex" ? { ...list, models: [] } : list);
    texts.set(kind, text);
    return text;
  };
  return {
    kind: "query",
    method: "GET",
    path: "/v1/models",
    auth: "key",
    openapi: () => ({
      operationId: "listModels",
      summary: "The catalog; also a check of key and connectivity",
      security: MESSAGES_CREDENTIALS,
      parameters: [
        VERSION,
        pageParameter("limit", { type: "integer", minimum: 1, maximum: LIMITS.max, default: LIMITS.default }),
        pageParameter("after_id", text),
        pageParameter("before_id", text),
      ],
      responses: {
        200: {
          description: "The models; with `anthropic-version` in the form of Anthropic's API, by pages",
          content: json({ oneOf: [list(ref("Model")), ref("MessagesModels")] }),
        },
        ...errorsOfBoth(KEY_ERRORS),
        ...messagesErrors(["invalid_request"]),
      },
      schemas: SCHEMAS,
    }),
    read: (source) => {
      if (isForMessages(source)) return { kind: "messages", page: readMessagesModelsPage(source) };
      return { kind: (source.query.get("client_version") ?? "") === "" ? "openai" : "codex" };
    },
    run: async ({ input: form }) => {
      if (form.kind === "messages") return jsonReply(messagesModelsPage(catalog.models, form.page));
      return {
        kind: "whole",
        headers: JSON_HEADERS,
        body: textOf(form.kind),
        facts: NO_FACTS,
        isShared: true,
      };
    },
  };
}

/** A parameter that only pages in the form of Anthropic's API have. */
function pageParameter(name: string, schema: Schema): Schema {
  return query(name, { ...schema, description: "Only with `anthropic-version`" });
}

interface ModelQuery {
  readonly id: string;
  readonly isForMessages: boolean;
}

/** `GET /v1/models/{id}`. Ids may contain slashes. */
export function getModel(catalog: Catalog): QueryOperation<ModelQuery> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/models/{id}",
    parameterSpansSlashes: true,
    auth: "key",
    openapi: () => ({
      operationId: "retrieveModel",
      summary: "One model, by id or alias; ids may contain slashes",
      security: MESSAGES_CREDENTIALS,
      parameters: [
        parameter("path", "id", { ...text, description: "The id or an alias of the model" }),
        VERSION,
      ],
      responses: {
        200: {
          description: "The model; with `anthropic-version` in the form of Anthropic's API",
          content: json({ oneOf: [ref("Model"), ref("MessagesModel")] }),
        },
        ...errorsOfBoth([...KEY_ERRORS, "model_not_found"]),
      },
      schemas: SCHEMAS,
    }),
    read: (source) => ({ id: source.parameters.id ?? "", isForMessages: isForMessages(source) }),
    run: async ({ input: asked }) => {
      const model = catalog.find(asked.id);
      if (model === null) throw unknownModel();
      const view = asked.isForMessages ? messagesModelOf(model, asked.id) : publicView(model);
      return jsonReply(view, factsWithoutUsage(model.id));
    },
  };
}

/** `model_not_found`, for any operation that names a model. */
export function unknownModel(param: "model" | null = null): Failure {
  return new Failure(
    "model_not_found",
    "The catalog has no such model. `GET /v1/models` lists the available models.",
    param === null ? {} : { param },
  );
}

function publicView(model: CatalogModel) {
  return {
    id: model.id,
    object: "model",
    created: model.created,
    owned_by: model.ownedBy,
    sandbox: model.sandbox,
    aliases: model.aliases,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    modalities: model.modalities,
    pricing: model.prices === null ? null : pricesInUsd(model.prices),
  };
}

/** The prices of a model, by the names that clients see. */
export const PRICE_FIELDS = {
  input_usd_per_mtok: "inputNanoUsdPerMTok",
  cached_input_usd_per_mtok: "cachedInputNanoUsdPerMTok",
  cache_write_usd_per_mtok: "cacheWriteNanoUsdPerMTok",
  cache_write_1h_usd_per_mtok: "cacheWrite1hNanoUsdPerMTok",
  audio_input_usd_per_mtok: "audioInputNanoUsdPerMTok",
  image_input_usd_per_mtok: "imageInputNanoUsdPerMTok",
  output_usd_per_mtok: "outputNanoUsdPerMTok",
  reasoning_usd_per_mtok: "reasoningNanoUsdPerMTok",
  audio_output_usd_per_mtok: "audioOutputNanoUsdPerMTok",
  image_output_usd_per_mtok: "imageOutputNanoUsdPerMTok",
  image_usd: "imageNanoUsd",
} as const satisfies Readonly<Record<string, keyof ModelPrices>>;

/** Decimal strings, as a float could not hold every price. */
function pricesInUsd(prices: ModelPrices): Readonly<Record<string, string>> {
  const fields = Object.entries(PRICE_FIELDS);
  return Object.fromEntries(fields.map(([name, field]) => [name, usdOf(prices[field])]));
}

/** Whether a request for models is one of Anthropic's API, whose clients send its version. */
function isForMessages({ header }: QuerySource): boolean {
  return header("anthropic-version").length > 0;
}

/** @throws {Failure} `invalid_request` naming the parameter. */
function readMessagesModelsPage({ query }: QuerySource): MessagesModelsPage {
  const limit = readLimit(query, LIMITS);
  const [afterId, beforeId] = [query.get("after_id"), query.get("before_id")];
  if (afterId !== null && beforeId !== null) throw invalid("before_id", "cannot be combined with after_id");
  return { limit, afterId, beforeId };
}

/**
 * A page of the models by all their names. Aliases are models of their own here: some clients offer only names that begin with
 * `claude`, and an alias is how an operator gives a model such a name.
 *
 * @throws {Failure} `invalid_request` for a position that is no model's name.
 */
function messagesModelsPage(
  models: readonly CatalogModel[],
  { limit, afterId, beforeId }: MessagesModelsPage,
) {
  const all = models.flatMap((model) => [model.id, ...model.aliases].map((id) => messagesModelOf(model, id)));
  const placeOf = (param: string, name: string) => {
    const place = all.findIndex(({ id }) => id === name);
    if (place === -1) throw invalid(param, "must be the id of a model of the list");
    return place;
  };
  const page = (start: number, end: number, hasMore: boolean) => {
    const data = all.slice(start, end);
    return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  };
  // A page before a model is the next one for a client that reads backwards.
  if (beforeId !== null) {
    const end = placeOf("before_id", beforeId);
    const start = Math.max(0, end - limit);
    return page(start, end, start > 0);
  }
  const start = afterId === null ? 0 : placeOf("after_id", afterId) + 1;
  return page(start, start + limit, start + limit < all.length);
}

/** A model by one of its names. What is shown to people says which model an alias stands for. */
function messagesModelOf(model: CatalogModel, id: string) {
  return {
    type: "model",
    id,
    display_name: model.id,
    created_at: new Date(model.created * 1_000).toISOString(),
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    // Clients may offer active models only.
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    capabilities: null,
    line: null,
  };
}
