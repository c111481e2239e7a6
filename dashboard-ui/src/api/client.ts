import type { AppRouter } from "@ostiary/server/router";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import superjson from "superjson";
import { errorCodeOf } from "./errors.ts";

/** Told when the service says that nobody is signed in any more. */
let onSignedOut: () => void = () => {};

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

function onError(error: unknown): void {
  if (errorCodeOf(error) === "not_signed_in") onSignedOut();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      // A wrong password is told next to the field.
      if (mutation.meta?.signingIn !== true) onError(error);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the service has decided it decides again; a lost connection may heal.
      retry: (failures, error) => errorCodeOf(error) === null && failures < 3,
    },
    // What a mutation answers (a key string) is nobody's business once the page has it.
    mutations: { gcTime: 0 },
  },
});

const client = createTRPCClient<AppRouter>({
  links: [httpBatchLink({ url: "/trpc", transformer: superjson, maxItems: 10 })],
});

/** The procedures, as options for TanStack Query. */
export const api = createTRPCOptionsProxy<AppRouter>({ client, queryClient });
