import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { errorCodeOf, errorTextAt } from "../../api/errors.ts";
import { changeErrorText } from "../../components/change-error.ts";
import { newIdempotencyKey } from "./idempotency.ts";

interface CreatedKey {
  readonly name: string;
  readonly key: string;
}

/**
 * Creates one key, even when retried: a dialog has one idempotency key, so that a retry after a lost answer creates no second
 * key.
 */
export function useKeyCreation(call: (idempotencyKey: string) => Promise<CreatedKey>) {
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  // Only this state holds the key string. The result of a mutation would also be cached.
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const { name, key } = await call(idempotencyKey);
      setCreated({ name, key });
    },
    // What shows keys is refreshed after an error too: the key may exist although the answer was lost. The error does not wait for it.
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: api.keys.pathKey() });
      void queryClient.invalidateQueries({ queryKey: api.account.firstSteps.queryKey() });
    },
  });
  return {
    created,
    create: () => mutate(),
    /** Forgets the key string. Another key can be created then. */
    forget: () => {
      setCreated(null);
      setIdempotencyKey(newIdempotencyKey());
    },
    isPending,
    /** The error of the name. */
    nameError: errorTextAt(error, "name"),
    /** Any other error. */
    formError:
      errorCodeOf(error) === "idempotency_key_reused"
        ? "An earlier attempt created a key with other settings, but the response was lost. Enter the same settings again, or close this dialog and revoke that key."
        : changeErrorText(
            error,
            ["name"],
            "The key may have been created. Try again here to see it: no second key is created. Otherwise revoke it in the list of keys.",
          ),
  };
}
