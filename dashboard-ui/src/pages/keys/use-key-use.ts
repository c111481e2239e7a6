import { skipToken, useQuery } from "@tanstack/react-query";
import { api, queryClient } from "../../api/client.ts";
import { errorCodeOf } from "../../api/errors.ts";
import { load } from "../../load.ts";

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

/** Loads the use of a key and of its successor, without which the guide would show an earlier state of the rotation at first. */
export async function loadRotation(id: string): Promise<void> {
  await load(api.keys.usage.queryOptions({ id }));
  const successorId = queryClient.getQueryData(api.keys.usage.queryKey({ id }))?.rotation?.successorId;
  if (successorId !== undefined) await load(api.keys.usage.queryOptions({ id: successorId }));
}
