import type { ListedToken } from "../../api/types.ts";
import { Address } from "../../components/Address.tsx";
import { Badge } from "../../components/Badge.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatDate, formatDateTime } from "../../components/format.ts";
import { Pair } from "../../components/Pair.tsx";
import textStyles from "../../components/text.module.css";

interface TokenTableProps {
  readonly tokens: readonly ListedToken[];
  readonly revoke: (token: ListedToken) => void;
}

/** A table of management tokens with their last use. */
export function TokenTable({ tokens, revoke }: TokenTableProps) {
  return (
    <DataTable
      caption="Your management tokens"
      columns={columnsFor(revoke)}
      rows={tokens}
      rowKey={({ id }) => id}
      isFaded={(token) => stateOf(token) !== "active"}
    />
  );
}

function columnsFor(revoke: TokenTableProps["revoke"]): readonly Column<ListedToken>[] {
  return [
    {
      label: "Token",
      kind: "name",
      cell: ({ name, tokenId, createdAt }) => (
        <Pair first={name}>
          <code>…{tokenId}</code> created {formatDate(createdAt)}
        </Pair>
      ),
    },
    { label: "State", cell: (token) => <State token={token} /> },
    { label: "Last used", cell: (token) => <LastUse token={token} /> },
    {
      label: "Actions",
      isLabelHidden: true,
      kind: "actions",
      cell: (token) =>
        stateOf(token) === "active" ? (
          <Button aria-label={`Revoke ${token.name}`} onClick={() => revoke(token)}>
            Revoke
          </Button>
        ) : null,
    },
  ];
}

function State({ token }: { readonly token: ListedToken }) {
  const state = stateOf(token);
  return (
    <Pair first={<Badge tone={state === "active" ? "good" : undefined}>{state}</Badge>}>
      <Validity token={token} />
    </Pair>
  );
}

function LastUse({ token: { lastUsedAt, lastUsedIp } }: { readonly token: ListedToken }) {
  if (lastUsedAt === null) return <span className={textStyles.quiet}>never</span>;
  return (
    <Pair first={<time dateTime={lastUsedAt.toISOString()}>{formatDateTime(lastUsedAt)}</time>}>
      from <Address ip={lastUsedIp} />
    </Pair>
  );
}

function stateOf({ revokedAt, expiresAt }: ListedToken): "active" | "revoked" | "expired" {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= new Date() ? "expired" : "active";
}

function Validity({ token: { revokedAt, expiresAt } }: { readonly token: ListedToken }) {
  if (revokedAt !== null) return <time dateTime={revokedAt.toISOString()}>{formatDateTime(revokedAt)}</time>;
  if (expiresAt === null) return "until revoked";
  return (
    <>
      until <time dateTime={expiresAt.toISOString()}>{formatDateTime(expiresAt)}</time>
    </>
  );
}
