import { skipToken, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { errorCodeOf } from "../../api/errors.ts";

const LIVE_MS = 3_000;

/** The use of a key, refreshed regularly, even in a background tab while the user updates a deployment. */
export function useKeyUse(id: string | undefined) {
  return useQuery(
    api.keys.usage.queryOptions(id === undefined ? skipToken : { id }, {
      // A refusal by the service does not change on a retry.
      refetchInterval: ({ state }) => (errorCodeOf(state.error) === null ? LIVE_MS : false),
      refetchIntervalInBackground: true,
    }),
  );
}
