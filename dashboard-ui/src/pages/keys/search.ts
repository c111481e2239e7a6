export type KeyOrder = "newest" | "name" | "last-use" | "requests";

/** The part of the page's state that is in its address. */
export interface KeysSearch {
  readonly search?: string | undefined;
  /** Absent for all keys. */
  readonly state?: "active" | "revoked" | undefined;
  /** Absent for the newest first. */
  readonly order?: Exclude<KeyOrder, "newest"> | undefined;
}

/** Every name must be present: the router keeps names that a validator omits as they are in the address. */
export function readKeysSearch({ search, state, order }: Record<string, unknown>): KeysSearch {
  // The router parses texts that look like numbers as numbers.
  const text = typeof search === "number" ? String(search) : search;
  return {
    search: typeof text === "string" && text !== "" ? text : undefined,
    state: state === "active" || state === "revoked" ? state : undefined,
    order: order === "name" || order === "last-use" || order === "requests" ? order : undefined,
  };
}
