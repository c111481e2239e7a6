import { SETUP_IDS, type SetupId } from "./setup-ids.ts";

/** What the page's address says. */
export interface ConnectSearch {
  readonly client?: SetupId | undefined;
  readonly model?: string | undefined;
}

/** Every name must be present: the router keeps names that a validator omits, unchecked, as they are in the address. */
export function readConnectSearch(search: Record<string, unknown>): ConnectSearch {
  const { client, model } = search;
  return {
    client: SETUP_IDS.find((id) => id === client),
    model: typeof model === "string" ? model : undefined,
  };
}
