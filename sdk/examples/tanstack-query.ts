// Procedures as queries of TanStack Query, here without React: components pass the same options to `useQuery` and `useMutation`.
// Needs OSTIARY_MANAGEMENT_TOKEN.
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { createTRPCClient } from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { type AppRouter, ostiaryLink } from "ostiary/trpc";

// The link retries by itself, so that the queries need not.
const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } });
const client = createTRPCClient<AppRouter>({ links: [ostiaryLink()] });
const trpc = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

const list = trpc.keys.list.queryOptions({ limit: 50 });
const observer = new QueryObserver(queryClient, list);
const stop = observer.subscribe(({ data, status }) => console.log("keys:", status, data?.keys.length ?? 0));
await queryClient.fetchQuery(list);

const create = trpc.keys.create.mutationOptions({
  onSuccess: () => queryClient.invalidateQueries(trpc.keys.list.queryFilter()),
});
const created = await queryClient
  .getMutationCache()
  .build(queryClient, create)
  .execute({ name: "by a form" });
console.log("created:", created.name);
const revoke = trpc.keys.revoke.mutationOptions();
console.log(
  "revoked:",
  (await queryClient.getMutationCache().build(queryClient, revoke).execute({ id: created.id })).name,
);

stop();
queryClient.clear();
