import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedToken } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Empty, LoadError, Loading } from "../../components/Notice.tsx";
import { Title } from "../../components/Title.tsx";
import { CreateToken } from "./CreateToken.tsx";
import { RevokeToken } from "./RevokeToken.tsx";
import { TokenTable } from "./TokenTable.tsx";

type OpenDialog = { readonly kind: "create" } | { readonly kind: "revoke"; readonly token: ListedToken };

/** Settings → Management tokens. */
export function Tokens() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [revoked, setRevoked] = useState<string | null>(null);
  const list = useQuery(api.tokens.list.queryOptions());
  const tokens = list.data?.tokens ?? [];

  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">Settings</p>
          <Title>Management tokens</Title>
          <p className="lead">
            They let your scripts create and revoke API keys. An API key can only read: leaked, it can't mint
            its own successor.
          </p>
        </div>
        <Button look="primary" disabled={list.isPending} onClick={() => setDialog({ kind: "create" })}>
          Create token
        </Button>
      </div>

      {list.isPending ? <Loading what="tokens" /> : null}
      {list.isError ? (
        <LoadError error={list.error} busy={list.isFetching} retry={() => list.refetch()} />
      ) : null}
      <p className="visually-hidden" role="status">
        {revoked === null ? "" : `The token “${revoked}” is revoked.`}
      </p>
      {list.isSuccess && tokens.length === 0 ? (
        <Empty title="No management tokens">
          <p>Most accounts need none. Create one for a script that manages keys.</p>
        </Empty>
      ) : null}
      {tokens.length > 0 ? (
        <div className="table-frame">
          <TokenTable tokens={tokens} revoke={(token) => setDialog({ kind: "revoke", token })} />
        </div>
      ) : null}

      {dialog?.kind === "create" ? (
        <CreateToken
          onClose={() => {
            setDialog(null);
            // A session that ended while a token was shown could not lead to signing in then: it does now.
            void list.refetch();
          }}
        />
      ) : null}
      {dialog?.kind === "revoke" ? (
        <RevokeToken
          token={dialog.token}
          onRevoked={() => setRevoked(dialog.token.name)}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </>
  );
}
