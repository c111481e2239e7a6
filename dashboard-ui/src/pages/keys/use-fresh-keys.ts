import { useQueries } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";

/** The interval between refreshes of what is seen. */
export const LIVE_MS = 5_000;
/** The maximum number of keys that one call returns. */
export const MAX_GOT = 100;

/** The same keys with their present usage. Only keys that are on the screen should be passed: each is refreshed every few seconds. */
export function useFreshKeys(keys: readonly ListedKey[]): readonly ListedKey[] {
  const parts = Array.from({ length: Math.ceil(keys.length / MAX_GOT) }, (_, index) =>
    keys.slice(index * MAX_GOT, (index + 1) * MAX_GOT).map(({ id }) => id),
  );
  const fresh = useQueries({
    queries: parts.map((ids) => api.keys.get.queryOptions({ ids }, { refetchInterval: LIVE_MS })),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => data?.keys ?? []).map((key) => [key.id, key])),
  });
  return keys.map((key) => fresh.get(key.id) ?? key);
}
