import type { Catalog, CatalogModel } from "../catalog/catalog.ts";
import type { ModelPrices } from "../catalog/prices.ts";
import { Failure } from "../errors/failure.ts";
import { type Endpoint, type EndpointRequest, JSON_HEADERS, NO_FACTS, type Reply } from "./endpoint.ts";
import { exactPath, pathWithRest } from "./routing.ts";

/** `GET /v1/models`: the catalog, in OpenAI's shape and with what it leaves out. */
export class ModelsEndpoint implements Endpoint {
  readonly method = "GET";
  readonly name = "GET /v1/models";
  readonly openedBy = "key";
  readonly match = exactPath("/v1/models");
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    await request.confirm();
    const body = JSON.stringify({ object: "list", data: this.#catalog.models.map(publicView) });
    return { kind: "whole", headers: JSON_HEADERS, body, facts: NO_FACTS };
  }
}

/** `GET /v1/models/{id}`, ids with slashes included. */
export class ModelEndpoint implements Endpoint {
  readonly method = "GET";
  readonly name = "GET /v1/models/{id}";
  readonly openedBy = "key";
  readonly match = pathWithRest("/v1/models/", "id");
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    await request.confirm();
    const model = this.#catalog.find(request.parameters.id ?? "");
    if (model === null) {
      throw new Failure(
        "model_not_found",
        "The catalog has no such model. `GET /v1/models` lists those it has.",
      );
    }
    const facts = { ...NO_FACTS, model: model.id };
    return { kind: "whole", headers: JSON_HEADERS, body: JSON.stringify(publicView(model)), facts };
  }
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
    input_usd_per_mtok: usd(prices.inputNanoUsdPerMTok),
    cached_input_usd_per_mtok: usd(prices.cachedInputNanoUsdPerMTok),
    output_usd_per_mtok: usd(prices.outputNanoUsdPerMTok),
    image_usd: usd(prices.imageNanoUsd),
  };
}

function usd(nanoUsd: bigint): string {
  const fraction = (nanoUsd % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  const whole = (nanoUsd / 1_000_000_000n).toString();
  return fraction === "" ? whole : `${whole}.${fraction}`;
}
