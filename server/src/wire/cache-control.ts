import type { CacheTtl } from "../conversation/conversation.ts";
import { isJsonObject, type JsonObject } from "../json/json.ts";

/** How long a block, a part or a tool asks to be cached, in the words of the Messages API. */
export function cacheOf({ cache_control: cache }: JsonObject): CacheTtl | null {
  if (!isJsonObject(cache)) return null;
  return cache.ttl === "1h" ? "1h" : "5m";
}
