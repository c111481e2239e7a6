import { useMutation } from "@tanstack/react-query";
import { api, queryClient } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { ListedToken } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { formatDateTime } from "../../components/format.ts";
import { Notice } from "../../components/Notice.tsx";

interface RevokeTokenProps {
  readonly token: ListedToken;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

/** Asks whether it is meant: scripts that use the token fail from then on. */
export function RevokeToken({ token, onRevoked, onClose }: RevokeTokenProps) {
  const revoke = useMutation(
    api.tokens.revoke.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: api.tokens.list.queryKey() });
        onRevoked();
        onClose();
      },
    }),
  );
  return (
    <Dialog title={`Revoke “${token.name}”?`} onDismiss={revoke.isPending ? undefined : onClose}>
      <p>
        Requests with the token <code>…{token.tokenId}</code> will be refused immediately. This can't be
        undone.{" "}
        {token.lastUsedAt === null
          ? "It was never used."
          : `It was last used ${formatDateTime(token.lastUsedAt)} from ${token.lastUsedIp ?? "an unknown address"}.`}
      </p>
      {revoke.error === null ? null : <Notice tone="error">{errorTextOf(revoke.error)}</Notice>}
      <div className="dialog-actions">
        <Button onClick={onClose} disabled={revoke.isPending}>
          Cancel
        </Button>
        <Button look="danger" busy={revoke.isPending} onClick={() => revoke.mutate({ id: token.id })}>
          Revoke token
        </Button>
      </div>
    </Dialog>
  );
}
