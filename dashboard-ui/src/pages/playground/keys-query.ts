import { api } from "../../api/client.ts";

/** Accounts with more keys search for one. The keys that these replace are looked up together with the chosen one: at most 100. */
const MAX_LISTED = 99;

/** The first keys of the account: active ones first, newest first. */
export function firstKeysQuery() {
  return api.keys.list.queryOptions({ limit: MAX_LISTED });
}
