import type { CacheTtl } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";

/** The breakpoints that Anthropic takes in one request. */
const MAX_BREAKPOINTS = 4;

/** Counts the blocks of a request that end what is to be cached. */
export class CacheBreakpoints {
  #count = 0;

  /** Whether some were left out. */
  get isExceeded(): boolean {
    return this.#count > MAX_BREAKPOINTS;
  }

  /** What a block has for its cache; empty if it asks for none, or too many did before it. */
  of(ttl: CacheTtl | null): JsonObject {
    if (ttl === null) return {};
    this.#count++;
    return this.isExceeded ? {} : { cache_control: { type: "ephemeral", ttl } };
  }
}
