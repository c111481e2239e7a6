import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { formatDate, formatDateTime } from "../api/format.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import { Empty, LoadError, Loading, Notice } from "../components/Notice.tsx";
import { Title } from "../components/Title.tsx";
import { CreateKey } from "./CreateKey.tsx";
import { type RevocableKey, RevokeKey } from "./RevokeKey.tsx";

/** From this many keys on a search is of use. */
const SEARCHABLE = 8;

/** Settings → API Keys. */
export function Keys() {
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<RevocableKey | null>(null);
  const [revoked, setRevoked] = useState<string | null>(null);
  const [search, setSearch] = useState("");
  const account = useQuery(api.account.get.queryOptions());
  const list = useQuery(api.keys.list.queryOptions());

  const keys = list.data?.keys ?? [];
  const active = keys.filter((key) => key.state === "active").length;
  const limit = account.data?.keyLimit ?? null;
  const full = limit !== null && active >= limit;
  const wanted = search.trim().toLowerCase();
  const shown = keys.filter(
    (key) => key.name.toLowerCase().includes(wanted) || key.keyId.toLowerCase().includes(wanted),
  );

  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">Settings</p>
          <Title>API keys</Title>
          <p className="lead">One key opens every model. Use a key of its own for each deployment.</p>
        </div>
        <Button look="primary" disabled={full || list.isPending} onClick={() => setCreating(true)}>
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
          <table className="table">
            <caption className="visually-hidden">API keys of the account</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Key ID</th>
                <th scope="col">State</th>
                <th scope="col">Created</th>
                <th scope="col">Last used</th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((key) => (
                <tr key={key.id} className={key.state === "revoked" ? "faded" : undefined}>
                  <th scope="row" className="name">
                    {key.name}
                  </th>
                  <td data-label="Key ID">
                    <code>…{key.keyId}</code>
                  </td>
                  <td data-label="State">
                    <span className={`badge badge-${key.state}`}>{key.state}</span>
                  </td>
                  <td data-label="Created">{formatDate(key.createdAt)}</td>
                  <td data-label="Last used">
                    {key.usage.lastUsedAt === null ? "never" : formatDateTime(key.usage.lastUsedAt)}
                  </td>
                  <td className="actions">
                    {key.state === "active" ? (
                      <Button
                        aria-label={`Revoke ${key.name}`}
                        onClick={() => setRevoking({ ...key, lastUsedAt: key.usage.lastUsedAt })}
                      >
                        Revoke
                      </Button>
                    ) : null}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {shown.length === 0 ? <p className="nothing">No key matches “{search}”.</p> : null}
        </div>
      ) : null}

      {creating ? (
        <CreateKey
          onClose={() => {
            setCreating(false);
            // A session that ended while a key was shown could not lead to signing in then: it does now.
            void list.refetch();
          }}
        />
      ) : null}
      {revoking === null ? null : (
        <RevokeKey
          apiKey={revoking}
          onRevoked={() => setRevoked(revoking.name)}
          onClose={() => setRevoking(null)}
        />
      )}
    </>
  );
}
