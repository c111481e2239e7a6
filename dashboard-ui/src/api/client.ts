import type { AppRouter } from "@ostiary/server/router";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import {
  createTRPCClient,
  type HTTPLinkOptions,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
} from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { clientTransformer } from "../../../sdk/src/contract/procedure-data.ts";
import { watchedFetch, whenReconnected } from "./connection.ts";
import { errorCodeOf, isUnreachable } from "./errors.ts";

/** Called when the service answers that the session has ended. */
let onSignedOut: () => void = () => {};

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

function onError(error: unknown): void {
  if (errorCodeOf(error) === "not_signed_in") onSignedOut();
}

/** Reports that the session has ended. For requests outside tRPC that receive this answer. */
export function noticeSignedOut(): void {
  onSignedOut();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The service may run on this machine, so requests do not wait for a network. Failures show at once.
      networkMode: "always",
      // An error code is the service's decision and does not change on retry. A lost connection may recover.
      retry: (failures, error) => isUnreachable(error) && failures < 3,
    },
    // A mutation that cannot be sent fails, so that a revocation is not sent minutes later.
    mutations: { gcTime: 0, networkMode: "always" },
  },
});

/** Queries that read many entries. A batch is answered as a whole, so the others of a page would wait for one of these. */
const LONG_QUERIES: ReadonlySet<string> = new Set([
  "audit.summary",
  "keys.addresses",
  "operator.log.summary",
  "operator.performance",
  "operator.upstreamHistory",
  "usage.performance",
]);

/** Options of queries that are sent on their own: no other query waits for one of them, nor the other way round. */
export const ALONE = { trpc: { context: { isAlone: true } } };

const MAX_INPUT_IN_ADDRESS = 2_000;
/** The timeout of a procedure. The service ends each earlier, so that only an answer that got lost takes longer. */
const PROCEDURE_TIMEOUT_MS = 60_000;
const http: Omit<HTTPLinkOptions<AppRouter["_def"]["_config"]["$types"]>, "headers"> = {
  url: "/trpc",
  transformer: clientTransformer,
  fetch: async (url, options) => {
    const timeout = AbortSignal.timeout(PROCEDURE_TIMEOUT_MS);
    const signal = options?.signal == null ? timeout : AbortSignal.any([options.signal, timeout]);
    const response = await watchedFetch(url, { ...options, signal });
    const { status, headers } = response;
    // The service's own refusals are JSON. Of another one, tRPC's client would report that only.
    if (status >= 400 && status < 500 && headers.get("content-type")?.includes("json") !== true) {
      throw Object.assign(new Error(`refused with status ${status}`), { meta: { response } });
    }
    return response;
  },
};

/** The procedures without a cache, for answers that must not be cached. */
export const client = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: httpSubscriptionLink({ url: "/trpc", transformer: clientTransformer }),
      false: splitLink({
        // The networks of IP rules are longer than an address can be.
        condition: ({ type, input }) =>
          type === "query" && JSON.stringify(input ?? "").length > MAX_INPUT_IN_ADDRESS,
        true: httpLink({ ...http, methodOverride: "POST" }),
        false: splitLink({
          condition: ({ path, context }) => context.isAlone === true || LONG_QUERIES.has(path),
          true: httpLink(http),
          false: httpBatchLink({ ...http, maxItems: 10 }),
        }),
      }),
    }),
  ],
});

/** The procedures, as options for TanStack Query. */
export const api = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

/** The catalog changes rarely, and many pages need it. It is asked for again after a lost connection, and by a reload. */
const CATALOG_STALE_MS = 60_000;
queryClient.setQueryDefaults(api.models.list.queryKey(), { staleTime: CATALOG_STALE_MS });

// Queries that failed while the connection was lost are refetched, and the page updates by itself.
whenReconnected(() => queryClient.invalidateQueries());
