import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";

/** The longest text that the service searches for. */
const MAX_SEARCH = 64;

/** Keys that match a search, beside those of the list that is there already. */
export interface FoundKeys {
  readonly keys: readonly ListedKey[];
  readonly isSearching: boolean;
  /** Why they could not be searched; `null` while they could. */
  readonly error: unknown;
  readonly retry: () => void;
}

/**
 * Searches the keys that a list does not have.
 *
 * @param isCut whether the account has more keys than the list.
 */
export function useFoundKeys(
  search: string | undefined,
  listed: readonly ListedKey[],
  isCut: boolean,
): FoundKeys {
  const text = search?.trim().slice(0, MAX_SEARCH) ?? "";
  const isAsked = isCut && text !== "";
  const query = useQuery(
    api.keys.list.queryOptions({ search: text }, { enabled: isAsked, placeholderData: keepPreviousData }),
  );
  const isListed = new Set(listed.map(({ id }) => id));
  return {
    keys: isAsked ? (query.data?.keys ?? []).filter(({ id }) => !isListed.has(id)) : [],
    isSearching: isAsked && (query.isLoading || query.isPlaceholderData),
    error: isAsked ? query.error : null,
    retry: () => void query.refetch(),
  };
}
