import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import type { AuditEntry } from "../../../api/types.ts";
import { AlignedUsd } from "../../../components/AlignedUsd.tsx";
import buttonStyles from "../../../components/Button.module.css";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { ExactTime } from "../../../components/ExactTime.tsx";
import { formatDuration, longestFraction } from "../../../components/format.ts";
import { Paged } from "../../../components/Paged.tsx";
import { Segmented } from "../../../components/Segmented.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import styles from "./AccountLog.module.css";

const PAGE_SIZE = 50;
const SHOWN = [
  { value: "all", label: "All" },
  { value: "error", label: "Errors only" },
] as const;

/** `fraction`: the number of fraction digits of the costs. */
const columnsFor = (fraction: number): readonly Column<AuditEntry>[] => [
  {
    label: "Time",
    kind: "time",
    cell: ({ timestamp }) => <ExactTime at={timestamp} />,
  },
  {
    label: "Model",
    className: styles.model,
    cell: ({ model }) => model ?? <span className={textStyles.quiet}>none</span>,
  },
  { label: "Key", cell: ({ keyId }) => <code>…{keyId}</code> },
  {
    label: "Status",
    className: styles.status,
    cell: ({ status, errorCode }) => `${status}${errorCode === null ? "" : ` ${errorCode}`}`,
  },
  { label: "Latency", kind: "number", isMinor: true, cell: ({ latencyMs }) => formatDuration(latencyMs) },
  {
    label: "Cost",
    kind: "number",
    cell: ({ costNanoUsd }) => <AlignedUsd nanoUsd={costNanoUsd} fraction={fraction} />,
  },
  {
    label: "Source IP",
    className: styles.address,
    cell: ({ sourceIp }) => <code>{sourceIp ?? "unknown"}</code>,
  },
];

/** The account's requests, newest first. */
export function AccountLog({ accountId }: { readonly accountId: string }) {
  const { status } = useSearch({ from: "/shell/operator/operator/accounts/$accountId" });
  const navigate = useNavigate({ from: "/operator/accounts/$accountId" });
  const query = useInfiniteQuery(
    api.operator.accounts.entries.infiniteQueryOptions(
      { id: accountId, limit: PAGE_SIZE, ...(status === undefined ? {} : { status }) },
      { getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined, staleTime: 0 },
    ),
  );
  const entries = query.data?.pages.flatMap((page) => page.entries) ?? [];
  const columns = columnsFor(longestFraction(entries.map(({ costNanoUsd }) => costNanoUsd)));
  return (
    <div className={consoleStyles.consolePart}>
      <div className={consoleStyles.consoleRow}>
        <Segmented
          label="Requests"
          value={status ?? "all"}
          options={SHOWN}
          onChange={(chosen) =>
            void navigate({
              search: { tab: "log", status: chosen === "error" ? chosen : undefined },
              replace: true,
              resetScroll: false,
            })
          }
        />
        <Link className={buttonStyles.button} to="/operator/log" search={{ accountId, status }}>
          Search in the request log
        </Link>
      </div>
      <Paged query={query} what="requests">
        {query.isSuccess && entries.length === 0 ? (
          <p className={textStyles.quiet}>
            {query.hasNextPage
              ? // A search that takes long ends before it has searched the whole log.
                "None found yet."
              : status === "error"
                ? "No errors."
                : "No requests yet."}
          </p>
        ) : null}
        {entries.length > 0 ? (
          <DataTable
            caption="Requests of the account, newest first"
            className={styles.log}
            columns={columns}
            rows={entries}
            rowKey={({ id }) => id}
          />
        ) : null}
      </Paged>
    </div>
  );
}
