import { type Endpoint, JSON_HEADERS, NO_FACTS, type Reply } from "./endpoint.ts";
import { exactPath } from "./routing.ts";

/** `GET /v1/openapi.json`: the contract, for anyone. */
export class OpenApiEndpoint implements Endpoint {
  readonly method = "GET";
  readonly name = "GET /v1/openapi.json";
  readonly openedBy = "anyone";
  readonly match = exactPath("/v1/openapi.json");
  readonly #document: () => object;

  /** `document`: known once the service knows its own address. */
  constructor(document: () => object) {
    this.#document = document;
  }

  async answer(): Promise<Reply> {
    const headers = { ...JSON_HEADERS, "access-control-allow-origin": "*" };
    return { kind: "whole", headers, body: JSON.stringify(this.#document()), facts: NO_FACTS };
  }
}
