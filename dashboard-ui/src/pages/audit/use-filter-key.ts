import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";

/** The number of keys that are suggested at once. */
const MAX_SUGGESTED = 20;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const KEY_ID = /^[0-9A-Za-z]{4}$/;

/** The key that a filter names by its id or its key ID. Undefined until it is loaded, and if the account has none. */
export function useFilterKey(filter: string | undefined): ListedKey | undefined {
  const isId = filter !== undefined && UUID.test(filter);
  const isKeyId = filter !== undefined && KEY_ID.test(filter);
  const byId = useQuery(api.keys.get.queryOptions(isId ? { ids: [filter] } : skipToken));
  const byKeyId = useQuery(
    api.keys.list.queryOptions(isKeyId ? { search: filter, limit: MAX_SUGGESTED } : skipToken),
  );
  if (isId) return byId.data?.keys[0];
  return isKeyId ? byKeyId.data?.keys.find(({ keyId }) => keyId === filter) : undefined;
}

/** A query for the first keys whose name or key ID contains a text, active ones first. Nothing is asked for until `isWanted`. */
export function useFoundKeys(text: string, isWanted: boolean) {
  const search = text === "" ? {} : { search: text.slice(0, 64) };
  return useQuery(
    api.keys.list.queryOptions(isWanted ? { ...search, limit: MAX_SUGGESTED } : skipToken, {
      placeholderData: keepPreviousData,
    }),
  );
}
