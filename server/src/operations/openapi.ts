import { JSON_HEADERS, NO_FACTS, type PublicOperation } from "./operation.ts";

/**
 * `GET /v1/openapi.json`: the contract, for anyone. It is written once, because whoever asks for it needs no key.
 *
 * @param url the service's own address, which it learns after it has begun to listen.
 */
export function getOpenApi(url: () => string, document: () => object): PublicOperation {
  let written: { readonly url: string; readonly body: string } | null = null;
  return {
    kind: "public",
    method: "GET",
    path: "/v1/openapi.json",
    isServed: true,
    openapi: null,
    run: async () => {
      const headers = { ...JSON_HEADERS, "access-control-allow-origin": "*" };
      if (written?.url !== url()) written = { url: url(), body: JSON.stringify(document()) };
      return { kind: "whole", headers, body: written.body, facts: NO_FACTS, isShared: true };
    },
  };
}
