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

/** `GET /v1/models`: the catalog, in OpenAI's form with further fields, or in that of Anthropic's API for its clients. */
export function listModels(catalog: Catalog): QueryOperation<MessagesModelsPage | null> {
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
    read: (source) => (isForMessages(source) ? readMessagesModelsPage(source) : null),
    run: async ({ input: asked }) =>
      jsonReply(
        asked === null
          ? { object: "list", data: catalog.models.map(publicView) }
          : messagesModelsPage(catalog.models, asked),
      ),
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
    output_usd_per_mtok: usdOf(prices.outputNanoUsdPerMTok),
    image_usd: usdOf(prices.imageNanoUsd),
  };
}
