import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { formatCount, formatDate, formatDateTime } from "../../components/format.ts";
import { RotationState } from "./RotationState.tsx";

const COLUMNS = 6;

interface KeyTableProps {
  readonly keys: readonly ListedKey[];
  /** All of the account's, for the names of successors. */
  readonly all: readonly ListedKey[];
  readonly revoke: (key: ListedKey) => void;
}

/** Keys, with who uses them. */
export function KeyTable({ keys, all, revoke }: KeyTableProps) {
  const byId = new Map(all.map((key) => [key.id, key]));
  return (
    <table className="table key-table">
      <caption className="visually-hidden">API keys of the account</caption>
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col">Created</th>
          <th scope="col">Last used</th>
          <th scope="col" className="number">
            Requests in 24 h
          </th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <Fragment key={key.id}>
            <KeyRow
              apiKey={key}
              replaced={key.replaces === null ? undefined : byId.get(key.replaces)}
              revoke={() => revoke(key)}
            />
            {key.rotation === null || key.state === "revoked" ? null : (
              <tr className="below">
                <td colSpan={COLUMNS}>
                  <RotationState apiKey={key} successor={byId.get(key.rotation.successorId)} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface KeyRowProps {
  readonly apiKey: ListedKey;
  /** The key that it was created to take over from. */
  readonly replaced: ListedKey | undefined;
  readonly revoke: () => void;
}

function KeyRow({ apiKey, replaced, revoke }: KeyRowProps) {
  const { id, name, keyId, state, createdAt, revokedAt, rotation, usage } = apiKey;
  return (
    <tr className={state === "active" ? undefined : "faded"}>
      <th scope="row" className="name">
        <span className="pair">
          {name}
          <span className="small">
            <code>…{keyId}</code>
            {replaced?.state === "active" ? ` replaces “${replaced.name}”` : null}
          </span>
        </span>
      </th>
      <td data-label="State">
        <span className="pair">
          <span className={`badge badge-${state}`}>{state}</span>
          {revokedAt === null ? null : <Time className="small" at={revokedAt} />}
        </span>
      </td>
      <td data-label="Created">
        <time dateTime={createdAt.toISOString()} title={formatDateTime(createdAt)}>
          {formatDate(createdAt)}
        </time>
      </td>
      <td data-label="Last used">
        <LastUse usage={usage} />
      </td>
      <td data-label="Requests in 24 h" className="number">
        <Requests usage={usage} />
      </td>
      <td className="actions">
        {state === "active" ? (
          <>
            <Link
              className="button"
              to="/settings/keys/$keyId/rotation"
              params={{ keyId: id }}
              aria-label={`${rotation === null ? "Rotate" : "Rotation of"} ${name}`}
            >
              {rotation === null ? "Rotate" : "Rotation"}
            </Link>
            <Button aria-label={`Revoke ${name}`} onClick={revoke}>
              Revoke
            </Button>
          </>
        ) : null}
      </td>
    </tr>
  );
}

function LastUse({ usage }: Pick<ListedKey, "usage">) {
  if (usage.lastUsedAt === null) return <span className="quiet">never</span>;
  return (
    <span className="pair">
      <Time at={usage.lastUsedAt} />
      <span className="small">
        from <code>{usage.lastUsedIp ?? "an unknown address"}</code>
        {usage.addresses > 1 ? `, one of ${formatCount(usage.addresses)} addresses` : null}
      </span>
    </span>
  );
}

function Requests({ usage }: Pick<ListedKey, "usage">) {
  const { requestsLastDay, requestsLastMinute } = usage;
  if (requestsLastDay === 0) return <span className="quiet">0</span>;
  return (
    <span className="pair">
      {formatCount(requestsLastDay)}
      {requestsLastMinute === 0 ? null : (
        <span className="small">{formatCount(requestsLastMinute)} in the last minute</span>
      )}
    </span>
  );
}

function Time({ at, className }: { readonly at: Date; readonly className?: string }) {
  return (
    <time className={className} dateTime={at.toISOString()}>
      {formatDateTime(at)}
    </time>
  );
}
