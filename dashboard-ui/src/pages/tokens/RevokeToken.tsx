import { useMutation } from "@tanstack/react-query";
import { api, queryClient } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { ListedToken } from "../../api/types.ts";
import { FormDialog } from "../../components/FormDialog.tsx";
import { formatDateTime } from "../../components/format.ts";

interface RevokeTokenProps {
  readonly token: ListedToken;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

/** Asks for confirmation, because scripts that use the token fail at once. */
export function RevokeToken({ token, onRevoked, onClose }: RevokeTokenProps) {
  const revoke = useMutation(
    api.tokens.revoke.mutationOptions({
      onSuccess: (revoked) => {
        // To load the list again may take long on a slow network, or fail.
        queryClient.setQueryData(api.tokens.list.queryKey(), (known) =>
          known === undefined
            ? known
            : { ...known, tokens: known.tokens.map((each) => (each.id === revoked.id ? revoked : each)) },
        );
        onRevoked();
        onClose();
      },
      // The token may be revoked although the answer was lost.
      onSettled: () => void queryClient.invalidateQueries({ queryKey: api.tokens.list.queryKey() }),
    }),
  );
  return (
    <FormDialog
      title={`Revoke “${token.name}”?`}
      action="Revoke token"
      isPending={revoke.isPending}
      error={revoke.error === null ? null : errorTextOf(revoke.error)}
      onSubmit={() => revoke.mutate({ id: token.id })}
      onClose={onClose}
      look="danger"
    >
      <p>
        Requests with the token <code>…{token.tokenId}</code> will be refused immediately. This can't be
        undone.{" "}
        {token.lastUsedAt === null
          ? "It was never used."
          : `It was last used ${formatDateTime(token.lastUsedAt)} from ${token.lastUsedIp ?? "an unknown address"}.`}
      </p>
    </FormDialog>
  );
}
