import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import type { ListedKey } from "../../../api/types.ts";
import { Badge } from "../../../components/Badge.tsx";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { formatDate, formatDateTime } from "../../../components/format.ts";
import { Paged } from "../../../components/Paged.tsx";
import { Pair } from "../../../components/Pair.tsx";
import textStyles from "../../../components/text.module.css";

const PAGE_SIZE = 50;

const COLUMNS: readonly Column<ListedKey>[] = [
  {
    label: "Key",
    kind: "name",
    cell: ({ name, keyId }) => (
      <Pair first={name}>
        <code>…{keyId}</code>
      </Pair>
    ),
  },
  {
    label: "State",
    cell: ({ state }) => <Badge tone={state === "active" ? "good" : undefined}>{state}</Badge>,
  },
  {
    label: "Last used",
    cell: ({ usage: { lastUsedAt } }) =>
      lastUsedAt === null ? (
        <span className={textStyles.quiet}>never</span>
      ) : (
        <time dateTime={lastUsedAt.toISOString()}>{formatDateTime(lastUsedAt)}</time>
      ),
  },
  {
    label: "Last address",
    cell: ({ usage: { lastUsedIp } }) =>
      lastUsedIp === null ? <span className={textStyles.quiet}>none</span> : <code>{lastUsedIp}</code>,
  },
  {
    label: "Created",
    cell: ({ createdAt }) => <time dateTime={createdAt.toISOString()}>{formatDate(createdAt)}</time>,
  },
];

/** The account's keys. */
export function AccountKeys({ accountId }: { readonly accountId: string }) {
  const query = useInfiniteQuery(
    api.operator.accounts.keys.infiniteQueryOptions(
      { id: accountId, limit: PAGE_SIZE },
      { getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined, staleTime: 0 },
    ),
  );
  const keys = query.data?.pages.flatMap((page) => page.keys) ?? [];
  return (
    <Paged query={query} what="keys">
      {query.isSuccess && keys.length === 0 ? <p className={textStyles.quiet}>No keys yet.</p> : null}
      {keys.length > 0 ? (
        <DataTable
          caption="API keys of the account"
          columns={COLUMNS}
          rows={keys}
          rowKey={({ id }) => id}
          isFaded={({ state }) => state !== "active"}
        />
      ) : null}
    </Paged>
  );
}
