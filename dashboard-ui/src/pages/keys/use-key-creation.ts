import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { errorCodeOf, errorTextAt, errorTextBeside } from "../../api/errors.ts";
import { newIdempotencyKey } from "./idempotency.ts";

interface CreatedKey {
  readonly name: string;
  readonly key: string;
}

/**
 * Creates one key, however often it is tried: a dialog has one idempotency key, so that trying again after a lost answer
 * makes no second key.
 */
export function useKeyCreation(call: (idempotencyKey: string) => Promise<CreatedKey>) {
  const [idempotencyKey] = useState(newIdempotencyKey);
  // The only place that holds the key string: what a mutation resolves to would stand in a cache too.
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const { name, key } = await call(idempotencyKey);
      setCreated({ name, key });
    },
    // Also after an error: the key may be there, and only the answer lost. The error does not wait for the list.
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: api.keys.pathKey() });
    },
  });
  return {
    created,
    create: () => mutate(),
    isPending,
    /** What is wrong with the name. */
    nameError: errorTextAt(error, "name"),
    /** What else is wrong. */
    formError:
      errorCodeOf(error) === "idempotency_key_reused"
        ? "An earlier attempt created a key with other settings, but the response was lost. Enter the same settings again, or close this dialog and revoke that key."
        : errorTextBeside(error, ["name"]),
  };
}
