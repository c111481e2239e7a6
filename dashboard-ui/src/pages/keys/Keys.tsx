import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import { Empty, LoadError, Loading, Notice } from "../../components/Notice.tsx";
import { Title } from "../../components/Title.tsx";
import { CreateKey } from "./CreateKey.tsx";
import { KeyTable } from "./KeyTable.tsx";
import { RevokeKey } from "./RevokeKey.tsx";
import { RotateKey } from "./RotateKey.tsx";

/** From this many keys on a search is of use. */
const SEARCHABLE = 8;
/** How often the list is asked for again while somebody looks at it. */
const LIVE_MS = 5_000;

type OpenDialog =
  | { readonly kind: "create" }
  | { readonly kind: "rotate"; readonly key: ListedKey }
  | { readonly kind: "revoke"; readonly key: ListedKey };

/** Settings → API Keys. */
export function Keys() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [revoked, setRevoked] = useState<string | null>(null);
  const [search, setSearch] = useState("");
  const account = useQuery(api.account.get.queryOptions());
  const list = useQuery(api.keys.list.queryOptions(undefined, { refetchInterval: LIVE_MS }));

  const keys = list.data?.keys ?? [];
  const active = keys.filter((key) => key.state === "active").length;
  const limit = account.data?.keyLimit ?? null;
  const full = limit !== null && active >= limit;
  const wanted = search.trim().toLowerCase();
  const shown = keys.filter(
    (key) => key.name.toLowerCase().includes(wanted) || key.keyId.toLowerCase().includes(wanted),
  );
  const closeCreation = () => {
    setDialog(null);
    // A session that ended while a key was shown could not lead to signing in then: it does now.
    void list.refetch();
  };

  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">Settings</p>
          <Title>API keys</Title>
          <p className="lead">One key opens every model. Use a key of its own for each deployment.</p>
        </div>
        <Button
          look="primary"
          disabled={full || list.isPending}
          onClick={() => setDialog({ kind: "create" })}
        >
          Create key
        </Button>
      </div>

      {full ? (
        <Notice tone="warning">
          The account has {active} active keys, as many as its plan allows. Revoke one to create another.
        </Notice>
      ) : null}
      {list.isPending ? <Loading what="keys" /> : null}
      {list.isError ? (
        <LoadError error={list.error} busy={list.isFetching} retry={() => list.refetch()} />
      ) : null}
      <p className="visually-hidden" role="status">
        {revoked === null ? "" : `The key “${revoked}” is revoked.`}
      </p>
      {list.isSuccess && keys.length === 0 ? (
        <Empty title="No keys yet">
          <p>
            Create one, put it into your application's environment as a secret, and send the first request.
          </p>
        </Empty>
      ) : null}
      {keys.length >= SEARCHABLE ? (
        <div className="search">
          <Field
            label="Search"
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
      ) : null}
      {keys.length > 0 ? (
        <div className="table-frame">
          <KeyTable
            keys={shown}
            all={keys}
            rotate={(key) => setDialog({ kind: "rotate", key })}
            revoke={(key) => setDialog({ kind: "revoke", key })}
          />
          {shown.length === 0 ? <p className="nothing">No key matches “{search}”.</p> : null}
        </div>
      ) : null}

      {dialog?.kind === "create" ? <CreateKey onClose={closeCreation} /> : null}
      {dialog?.kind === "rotate" ? <RotateKey apiKey={dialog.key} onClose={closeCreation} /> : null}
      {dialog?.kind === "revoke" ? (
        <RevokeKey
          // Somebody may use the key while its owner makes up their mind.
          apiKey={keys.find(({ id }) => id === dialog.key.id) ?? dialog.key}
          onRevoked={() => setRevoked(dialog.key.name)}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </>
  );
}
