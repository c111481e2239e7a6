import { JSON_HEADERS, NO_FACTS, type PublicOperation } from "./operation.ts";

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
    openapi: null,
    run: async () => {
      const headers = { ...JSON_HEADERS, "access-control-allow-origin": "*" };
      return { kind: "whole", headers, body: JSON.stringify(document()), facts: NO_FACTS };
    },
  };
}
