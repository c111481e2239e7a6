import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { changeErrorText, errorCodeOf, errorTextAt } from "../../api/errors.ts";
import { useKeptDraft } from "../../components/use-kept-draft.ts";
import { newIdempotencyKey } from "./idempotency.ts";

interface CreatedKey {
  readonly name: string;
  readonly key: string;
}

/**
 * Creates one key, even when retried: a dialog has one idempotency key, so that a retry after a lost answer creates no second
 * key, also if the session ended meanwhile.
 *
 * @param what is created. Forms for the same have the same attempt.
 */
export function useKeyCreation(what: string, call: (idempotencyKey: string) => Promise<CreatedKey>) {
  const [newKey, setNewKey] = useState(newIdempotencyKey);
  // The key of an attempt is kept with what was typed: an attempt before the one that was refused may have created the key.
  const [attempt, setAttempt] = useKeptDraft<string>(`of the attempt at ${what}`);
  const idempotencyKey = attempt ?? newKey;
  // Only this state holds the key string. The result of a mutation would also be cached.
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const { name, key } = await call(idempotencyKey);
      setCreated({ name, key });
      setAttempt(null);
      setNewKey(newIdempotencyKey());
    },
    // What shows keys is refreshed after an error too: the key may exist although the answer was lost. The error does not wait for it.
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: api.keys.pathKey() });
      void queryClient.invalidateQueries({ queryKey: api.account.firstSteps.queryKey() });
    },
  });
  return {
    created,
    create: () => {
      setAttempt(idempotencyKey);
      mutate();
    },
    /** Forgets the key string. Another key can be created then. */
    forget: () => setCreated(null),
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
