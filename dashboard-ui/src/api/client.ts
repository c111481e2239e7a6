import type { AppRouter } from "@ostiary/server/router";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { clientTransformer } from "../../../sdk/src/contract/procedure-data.ts";
import { watchedFetch, whenHealed } from "./connection.ts";
import { errorCodeOf } from "./errors.ts";

/** Told when the service says that nobody is signed in any more. */
let onSignedOut: () => void = () => {};

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

function onError(error: unknown): void {
  if (errorCodeOf(error) === "not_signed_in") onSignedOut();
}

/** For what asks the service otherwise than by procedures, and was told the same. */
export function noticeSignedOut(): void {
  onSignedOut();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The service may run on this machine. And what fails shows: it does not wait for a network unseen.
      networkMode: "always",
      // What the service has decided it decides again; a lost connection may heal.
      retry: (failures, error) => errorCodeOf(error) === null && failures < 3,
    },
    // What could not be sent fails: nothing is revoked minutes later, when someone has forgotten that they asked.
    mutations: { gcTime: 0, networkMode: "always" },
  },
});

/** The procedures themselves, for answers that must not be kept in a cache. */
export const client = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: httpSubscriptionLink({ url: "/trpc", transformer: clientTransformer }),
      false: httpBatchLink({
        url: "/trpc",
        transformer: clientTransformer,
        maxItems: 10,
        fetch: (url, options) => watchedFetch(url, { ...options, signal: options?.signal ?? null }),
      }),
    }),
  ],
});

/** The procedures, as options for TanStack Query. */
export const api = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

// What failed meanwhile is asked for again, and shows by itself.
whenHealed(() => void queryClient.invalidateQueries());
