import type { ListedToken } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { formatDate, formatDateTime } from "../../components/format.ts";

interface TokenTableProps {
  readonly tokens: readonly ListedToken[];
  readonly revoke: (token: ListedToken) => void;
}

/** Management tokens, with where they were last used. */
export function TokenTable({ tokens, revoke }: TokenTableProps) {
  return (
    <table className="table">
      <caption className="visually-hidden">Your management tokens</caption>
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col">State</th>
          <th scope="col">Last used</th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <TokenRow key={token.id} token={token} revoke={() => revoke(token)} />
        ))}
      </tbody>
    </table>
  );
}

function TokenRow({ token, revoke }: { readonly token: ListedToken; readonly revoke: () => void }) {
  const state = stateOf(token);
  return (
    <tr className={state === "active" ? undefined : "faded"}>
      <th scope="row" className="name">
        <span className="pair">
          {token.name}
          <span className="small">
            <code>…{token.tokenId}</code> created {formatDate(token.createdAt)}
          </span>
        </span>
      </th>
      <td data-label="State">
        <span className="pair">
          <span className={`badge badge-${state === "active" ? "active" : "revoked"}`}>{state}</span>
          <span className="small">{validityOf(token)}</span>
        </span>
      </td>
      <td data-label="Last used">
        {token.lastUsedAt === null ? (
          <span className="quiet">never</span>
        ) : (
          <span className="pair">
            <time dateTime={token.lastUsedAt.toISOString()}>{formatDateTime(token.lastUsedAt)}</time>
            <span className="small">
              from <code>{token.lastUsedIp ?? "an unknown address"}</code>
            </span>
          </span>
        )}
      </td>
      <td className="actions">
        {state === "active" ? (
          <Button aria-label={`Revoke ${token.name}`} onClick={revoke}>
            Revoke
          </Button>
        ) : null}
      </td>
    </tr>
  );
}

function stateOf({ revokedAt, expiresAt }: ListedToken): "active" | "revoked" | "expired" {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= new Date() ? "expired" : "active";
}

function validityOf({ revokedAt, expiresAt }: ListedToken): string {
  if (revokedAt !== null) return formatDate(revokedAt);
  return expiresAt === null ? "until revoked" : `until ${formatDate(expiresAt)}`;
}
