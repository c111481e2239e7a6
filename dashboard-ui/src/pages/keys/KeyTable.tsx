import { Link, useNavigate } from "@tanstack/react-router";
import type { ListedKey } from "../../api/types.ts";
import { Address } from "../../components/Address.tsx";
import { Badge } from "../../components/Badge.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatDate, formatDateTime } from "../../components/format.ts";
import { Pair } from "../../components/Pair.tsx";
import { RowMenu } from "../../components/RowMenu.tsx";
import textStyles from "../../components/text.module.css";
import { Ban, RefreshCw } from "../../icons/icons.ts";
import styles from "./KeyTable.module.css";
import { RotationState } from "./RotationState.tsx";

interface KeyTableProps {
  readonly keys: readonly ListedKey[];
  /** All keys of the account, for the names of successors. */
  readonly all: readonly ListedKey[];
  readonly revoke: (key: ListedKey) => void;
}

/** A table of keys with their use. */
export function KeyTable({ keys, all, revoke }: KeyTableProps) {
  const byId = new Map(all.map((key) => [key.id, key]));
  return (
    <DataTable
      caption="API keys of the account"
      className={styles.keyTable}
      columns={columnsFor(byId, revoke)}
      rows={keys}
      rowKey={({ id }) => id}
      isFaded={({ state }) => state !== "active"}
      details={(key) =>
        key.rotation === null || key.state === "revoked" ? null : (
          <RotationState apiKey={key} successor={byId.get(key.rotation.successorId)} />
        )
      }
    />
  );
}

function columnsFor(
  byId: ReadonlyMap<string, ListedKey>,
  revoke: KeyTableProps["revoke"],
): readonly Column<ListedKey>[] {
  return [
    {
      label: "Key",
      kind: "name",
      cell: (key) => (
        <KeyName apiKey={key} replaced={key.replaces === null ? undefined : byId.get(key.replaces)} />
      ),
    },
    {
      label: "State",
      cell: ({ state, revokedAt }) => (
        <Pair first={<Badge tone={state === "active" ? "good" : undefined}>{state}</Badge>}>
          {revokedAt === null ? null : <Time at={revokedAt} />}
        </Pair>
      ),
    },
    {
      label: "Created",
      cell: ({ createdAt }) => (
        <time dateTime={createdAt.toISOString()} title={formatDateTime(createdAt)}>
          {formatDate(createdAt)}
        </time>
      ),
    },
    { label: "Last used", className: styles.lastUse, cell: ({ usage }) => <LastUse usage={usage} /> },
    { label: "Requests in 24\u00a0h", kind: "number", cell: ({ usage }) => <Requests usage={usage} /> },
    {
      label: "Actions",
      isLabelHidden: true,
      kind: "actions",
      cell: (key) => (key.state === "active" ? <Actions apiKey={key} revoke={() => revoke(key)} /> : null),
    },
  ];
}

interface KeyNameProps {
  readonly apiKey: ListedKey;
  /** The key that this key was created to replace. */
  readonly replaced: ListedKey | undefined;
}

function KeyName({ apiKey: { id, name, keyId }, replaced }: KeyNameProps) {
  return (
    <Pair
      first={
        <Link to="/settings/keys/$keyId" params={{ keyId: id }} search={{ range: "7d", by: "none" }}>
          <bdi>{name}</bdi>
        </Link>
      }
    >
      <code>…{keyId}</code>
      {replaced?.state === "active" ? ` replaces “${replaced.name}”` : null}
    </Pair>
  );
}

function Actions({ apiKey, revoke }: { readonly apiKey: ListedKey; readonly revoke: () => void }) {
  const { id, name, rotation } = apiKey;
  const navigate = useNavigate();
  return (
    <RowMenu
      of={name}
      parts={[
        [
          {
            label: rotation === null ? "Rotate" : "Open rotation",
            icon: <RefreshCw size={16} aria-hidden="true" />,
            onSelect: () => void navigate({ to: "/settings/keys/$keyId/rotation", params: { keyId: id } }),
          },
        ],
        [
          {
            label: "Revoke",
            icon: <Ban size={16} aria-hidden="true" />,
            tone: "danger",
            onSelect: revoke,
          },
        ],
      ]}
    />
  );
}

function LastUse({ usage }: Pick<ListedKey, "usage">) {
  if (usage.lastUsedAt === null) return <span className={textStyles.quiet}>never</span>;
  return (
    <span className={textStyles.pair}>
      <Time at={usage.lastUsedAt} />
      <span className={textStyles.small}>
        from <Address ip={usage.lastUsedIp} />
        {usage.addresses > 1 ? `, one of ${formatCount(usage.addresses)} addresses` : null}
      </span>
    </span>
  );
}

function Requests({ usage }: Pick<ListedKey, "usage">) {
  const { requestsLastDay, requestsLastMinute } = usage;
  if (requestsLastDay === 0) return <span className={textStyles.quiet}>0</span>;
  return (
    <span className={textStyles.pair}>
      {formatCount(requestsLastDay)}
      {requestsLastMinute === 0 ? null : (
        <span className={textStyles.small}>{formatCount(requestsLastMinute)} in the last minute</span>
      )}
    </span>
  );
}

function Time({ at }: { readonly at: Date }) {
  return <time dateTime={at.toISOString()}>{formatDateTime(at)}</time>;
}
