import { skipToken, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { errorCodeOf } from "../../api/errors.ts";

const LIVE_MS = 3_000;

/** Who uses a key, asked for again and again: also behind another window, where somebody updates a deployment. */
export function useKeyUse(id: string | undefined) {
  return useQuery(
    api.keys.usage.queryOptions(id === undefined ? skipToken : { id }, {
      // What the service has refused once it will refuse again.
      refetchInterval: ({ state }) => (errorCodeOf(state.error) === null ? LIVE_MS : false),
      refetchIntervalInBackground: true,
    }),
  );
}
