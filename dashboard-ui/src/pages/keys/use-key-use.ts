import { skipToken, useQuery } from "@tanstack/react-query";
import { api, queryClient } from "../../api/client.ts";
import { errorCodeOf, isMissing } from "../../api/errors.ts";
import { load } from "../../load.ts";

const LIVE_MS = 3_000;

/** The use of a key, refreshed regularly, even in a background tab while the user updates a deployment. */
export function useKeyUse(id: string | undefined) {
  return useQuery(
    api.keys.usage.queryOptions(id === undefined ? skipToken : { id }, {
      // Only these do not change on a retry: there is no such key, or the user is signed out.
      refetchInterval: ({ state: { error } }) =>
        isMissing(error) || errorCodeOf(error) === "not_signed_in" ? false : LIVE_MS,
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
