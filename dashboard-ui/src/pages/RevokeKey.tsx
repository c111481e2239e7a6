import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api, queryClient } from "../api/client.ts";
import { errorTextOf } from "../api/errors.ts";
import { formatDateTime } from "../api/format.ts";
import { Button } from "../components/Button.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { Field } from "../components/Field.tsx";
import { Notice } from "../components/Notice.tsx";

export interface RevocableKey {
  readonly id: string;
  readonly name: string;
  readonly keyId: string;
  readonly lastUsedAt: Date | null;
}

/** Asks to type the key's name: what still uses it stops working at once, for good. */
export function RevokeKey({
  apiKey,
  onRevoked,
  onClose,
}: {
  readonly apiKey: RevocableKey;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}) {
  const [typed, setTyped] = useState("");
  const revoke = useMutation(
    api.keys.revoke.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: api.keys.list.queryKey() });
        onRevoked();
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
          Requests with the key <code>…{apiKey.keyId}</code> are refused from now on. This can't be undone.{" "}
          {apiKey.lastUsedAt === null
            ? "It was never used."
            : `It was last used ${formatDateTime(apiKey.lastUsedAt)}.`}
        </p>
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
