import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure } from "../trpc.ts";
import { testUpstream } from "./providers.ts";

/** What operators read of models and of the upstreams that serve them. */
export function modelReads(services: RpcServices) {
  const { catalog, gateway } = services;
  return {
    /** Health of each upstream, as this node sees it. */
    upstreams: operatorProcedure.query(() => ({
      /** The upstreams of the catalog. */
      upstreams: gateway.health(),
    })),

    /** Checks an upstream of the catalog with its credential. */
    testUpstream: testUpstream(services),

    /** The current catalog with its routes, without credentials. */
    catalog: operatorProcedure.query(() => ({
      /** The models, in the order of the catalog. */
      models: catalog.models,
      /** The upstreams that serve them. */
      upstreams: [...catalog.upstreams.values()].map(
        ({ credential, settings: _, isSandbox: __, ...upstream }) => ({
          ...upstream,
          /** Whether the service sends a credential. */
          hasCredential: credential !== null,
        }),
      ),
    })),
  };
}
