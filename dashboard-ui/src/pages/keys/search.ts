export type KeyOrder = "newest" | "name" | "last-use" | "requests";

/** What of the list of keys stands in its address. */
export interface KeysSearch {
  readonly search?: string | undefined;
  /** Absent for both. */
  readonly state?: "active" | "revoked" | undefined;
  /** Absent for the newest first. */
  readonly order?: Exclude<KeyOrder, "newest"> | undefined;
}

/** Every name is there, whether it is given or not: what a validator leaves out, the router takes from the address as it stands. */
export function readKeysSearch({ search, state, order }: Record<string, unknown>): KeysSearch {
  // The router reads what looks like a number as one.
  const text = typeof search === "number" ? String(search) : search;
  return {
    search: typeof text === "string" && text !== "" ? text : undefined,
    state: state === "active" || state === "revoked" ? state : undefined,
    order: order === "name" || order === "last-use" || order === "requests" ? order : undefined,
  };
}
