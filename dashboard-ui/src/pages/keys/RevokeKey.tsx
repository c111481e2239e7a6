import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { ListedKey } from "../../api/types.ts";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { formatCounted, formatDateTime } from "../../components/format.ts";
import { Notice } from "../../components/Notice.tsx";

interface RevokeKeyProps {
  readonly apiKey: Pick<ListedKey, "id" | "name" | "keyId"> & {
    readonly usage: Pick<ListedKey["usage"], "lastUsedAt" | "lastUsedIp" | "requestsLastHour">;
  };
  readonly onRevoked?: () => void;
  readonly onClose: () => void;
}

/** Asks for the key's name to confirm, because revoking is permanent and takes effect at once. */
export function RevokeKey({ apiKey, onRevoked, onClose }: RevokeKeyProps) {
  const { lastUsedAt, lastUsedIp, requestsLastHour } = apiKey.usage;
  const [typed, setTyped] = useState("");
  const revoke = useMutation(
    api.keys.revoke.mutationOptions({
      onSuccess: (revoked) => {
        showRevoked(revoked);
        onRevoked?.();
        onClose();
      },
      // The key may be revoked although the answer was lost.
      onSettled: () => void queryClient.invalidateQueries({ queryKey: api.keys.pathKey() }),
    }),
  );
  return (
    <FormDialog
      title={`Revoke “${apiKey.name}”?`}
      action="Revoke key"
      isPending={revoke.isPending}
      error={revoke.error === null ? null : errorTextOf(revoke.error)}
      onSubmit={() => revoke.mutate({ id: apiKey.id })}
      onClose={onClose}
      look="danger"
      isDisabled={asSeen(typed) !== asSeen(apiKey.name)}
    >
      <p>
        Requests with the key <code>…{apiKey.keyId}</code> will return 401 immediately. This can't be undone.{" "}
        {lastUsedAt === null
          ? "It was never used."
          : `It was last used ${formatDateTime(lastUsedAt)} from ${lastUsedIp ?? "an unknown address"}.`}
      </p>
      {requestsLastHour === 0 ? null : (
        <Notice tone="warning">
          <p>This key is in use: {formatCounted(requestsLastHour, "request")} in the last hour.</p>
        </Notice>
      )}
      <Field
        label={`Type “${apiKey.name}” to confirm`}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}

interface KnownKeys {
  readonly keys: readonly ListedKey[];
}

/** Shows the key as revoked at once: to load it again may take long on a slow network, or fail. */
function showRevoked({ id, state, revokedAt }: Pick<ListedKey, "id" | "state" | "revokedAt">): void {
  for (const { queryKey } of [api.keys.list.pathFilter(), api.keys.get.pathFilter()]) {
    queryClient.setQueriesData<KnownKeys>({ queryKey }, (known) =>
      known === undefined
        ? known
        : { ...known, keys: known.keys.map((key) => (key.id === id ? { ...key, state, revokedAt } : key)) },
    );
  }
  queryClient.setQueryData(api.keys.usage.queryKey({ id }), (known) =>
    known === undefined ? known : { ...known, state, revokedAt },
  );
}

/** A text as its reader sees it: spaces in a row look like one, and an accent may be a letter of its own. */
function asSeen(text: string): string {
  return text.normalize().replace(/\s+/g, " ").trim();
}
