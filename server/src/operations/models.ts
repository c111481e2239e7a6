import type { Catalog, CatalogModel } from "../catalog/catalog.ts";
import { type ModelPrices, usdOf } from "../catalog/prices.ts";
import { Failure } from "../errors/failure.ts";
import {
  isForMessages,
  type MessagesModelsPage,
  messagesModelOf,
  messagesModelsPage,
  readMessagesModelsPage,
} from "./messages-models.ts";
import { errors, json, KEY_ERRORS, list, MESSAGES_VERSION, ref } from "./openapi-parts.ts";
import { jsonReply, NO_FACTS, type QueryOperation } from "./operation.ts";

/** How a client wants the models: as OpenAI's clients, as Codex, or a page of Anthropic's. */
type ListForm =
  | { readonly kind: "openai" }
  | { readonly kind: "codex" }
  | { readonly kind: "messages"; readonly page: MessagesModelsPage };

/**
 * `GET /v1/models`: the catalog, in OpenAI's form with further fields, or in that of Anthropic's API for its clients. Codex sends
 * `client_version`, and expects its own descriptions of models in `models`: with none it uses those that it brings along.
 */
export function listModels(catalog: Catalog): QueryOperation<ListForm> {
  return {
    kind: "query",
    method: "GET",
    path: "/v1/models",
    auth: "key",
    openapi: {
      operationId: "listModels",
      summary: "The catalog; also a check of key and connectivity",
      parameters: [MESSAGES_VERSION],
      responses: {
        200: {
          description: "The models; with `anthropic-version` in the form of Anthropic's API, by pages",
          content: json(list(ref("Model"))),
        },
        ...errors(KEY_ERRORS),
      },
    },
    read: (source) => {
      if (isForMessages(source)) return { kind: "messages", page: readMessagesModelsPage(source) };
      return { kind: (source.query.get("client_version") ?? "") === "" ? "openai" : "codex" };
    },
    run: async ({ input: form }) => {
      if (form.kind === "messages") return jsonReply(messagesModelsPage(catalog.models, form.page));
      const list = { object: "list", data: catalog.models.map(publicView) };
      return jsonReply(form.kind === "codex" ? { ...list, models: [] } : list);
    },
  };
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
    openapi: {
      operationId: "retrieveModel",
      summary: "One model, by id or alias; ids may contain slashes",
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      responses: {
        200: { description: "The model", content: json(ref("Model")) },
        ...errors([...KEY_ERRORS, "model_not_found"]),
      },
    },
    read: (source) => ({ id: source.parameters.id ?? "", isForMessages: isForMessages(source) }),
    run: async ({ input: asked }) => {
      const model = catalog.find(asked.id);
      if (model === null) throw unknownModel();
      const view = asked.isForMessages ? messagesModelOf(model, asked.id) : publicView(model);
      return jsonReply(view, { ...NO_FACTS, model: model.id });
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

/** Decimal strings, as a float could not hold every price. */
function pricesInUsd(prices: ModelPrices) {
  return {
    input_usd_per_mtok: usdOf(prices.inputNanoUsdPerMTok),
    cached_input_usd_per_mtok: usdOf(prices.cachedInputNanoUsdPerMTok),
    cache_write_usd_per_mtok: usdOf(prices.cacheWriteNanoUsdPerMTok),
    cache_write_1h_usd_per_mtok: usdOf(prices.cacheWrite1hNanoUsdPerMTok),
    audio_input_usd_per_mtok: usdOf(prices.audioInputNanoUsdPerMTok),
    image_input_usd_per_mtok: usdOf(prices.imageInputNanoUsdPerMTok),
    output_usd_per_mtok: usdOf(prices.outputNanoUsdPerMTok),
    reasoning_usd_per_mtok: usdOf(prices.reasoningNanoUsdPerMTok),
    audio_output_usd_per_mtok: usdOf(prices.audioOutputNanoUsdPerMTok),
    image_output_usd_per_mtok: usdOf(prices.imageOutputNanoUsdPerMTok),
    image_usd: usdOf(prices.imageNanoUsd),
  };
}
