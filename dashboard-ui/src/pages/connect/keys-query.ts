import { api } from "../../api/client.ts";

/** More keys than the page needs to find one that is active. */
const MAX_KEYS = 100;

/** The account's keys, to offer a new one where there is none. */
export function connectKeysQuery() {
  return api.keys.list.queryOptions({ limit: MAX_KEYS });
}
