import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { formatCount, formatDateTime } from "../../components/format.ts";
import { Notice } from "../../components/Notice.tsx";

interface RevokeKeyProps {
  readonly apiKey: Pick<ListedKey, "id" | "name" | "keyId"> & {
    readonly usage: Pick<ListedKey["usage"], "lastUsedAt" | "lastUsedIp" | "requestsLastHour">;
  };
  readonly onRevoked?: () => void;
  readonly onClose: () => void;
}

/** Asks to type the key's name: what still uses it stops working at once, for good. */
export function RevokeKey({ apiKey, onRevoked, onClose }: RevokeKeyProps) {
  const { lastUsedAt, lastUsedIp, requestsLastHour } = apiKey.usage;
  const [typed, setTyped] = useState("");
  const revoke = useMutation(
    api.keys.revoke.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: api.keys.pathKey() });
        onRevoked?.();
        onClose();
      },
    }),
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    revoke.mutate({ id: apiKey.id });
  };
  return (
    <Dialog title={`Revoke “${apiKey.name}”?`} onDismiss={revoke.isPending ? undefined : onClose}>
      <form onSubmit={submit} className="form">
        <p>
          Requests with the key <code>…{apiKey.keyId}</code> will return 401 immediately. This can't be
          undone.{" "}
          {lastUsedAt === null
            ? "It was never used."
            : `It was last used ${formatDateTime(lastUsedAt)} from ${lastUsedIp ?? "an unknown address"}.`}
        </p>
        {requestsLastHour === 0 ? null : (
          <Notice tone="warning">
            <p>
              This key is in use: {formatCount(requestsLastHour)}{" "}
              {requestsLastHour === 1 ? "request" : "requests"} in the last hour.
            </p>
          </Notice>
        )}
        {revoke.error === null ? null : <Notice tone="error">{errorTextOf(revoke.error)}</Notice>}
        <Field
          label={`Type “${apiKey.name}” to confirm`}
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={revoke.isPending}>
            Cancel
          </Button>
          <Button type="submit" look="danger" busy={revoke.isPending} disabled={typed.trim() !== apiKey.name}>
            Revoke key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
