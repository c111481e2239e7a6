import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { AuditEntry } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { ExactTime } from "../../components/ExactTime.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./LatestRequests.module.css";

const SHOWN = 6;
const LIVE_MS = 5_000;

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    label: "Time",
    kind: "time",
    cell: ({ timestamp }) => <ExactTime at={timestamp} />,
  },
  { label: "Source IP", cell: ({ sourceIp }) => <code>{sourceIp ?? "unknown"}</code> },
  {
    label: "Model",
    cell: ({ model }) => (
      <span className={textStyles.cut} title={model ?? undefined}>
        {model ?? <span className={textStyles.quiet}>none</span>}
      </span>
    ),
  },
  { label: "Endpoint", cell: ({ endpoint }) => endpoint },
  { label: "Status", kind: "number", cell: ({ status }) => status },
];

interface LatestRequestsProps {
  readonly keyId: string;
  readonly title: string;
  /** The text shown without requests. */
  readonly none: string;
  /** Shows only requests that were refused with this code. */
  readonly errorCode?: "revoked_api_key";
}

/** The latest requests with a key, which show the clients that still need an update. */
export function LatestRequests({ keyId, title, none, errorCode }: LatestRequestsProps) {
  const filter = { key: keyId, error_code: errorCode };
  const log = useQuery(
    api.audit.list.queryOptions({ ...filter, limit: SHOWN }, { refetchInterval: LIVE_MS }),
  );
  return (
    <div className={styles.rotationLatest}>
      <div className={panelStyles.panelHead}>
        <h3>{title}</h3>
        <Link to="/audit" search={filter}>
          View in request log
        </Link>
      </div>
      <Loaded query={log} what="requests">
        {({ entries, nextCursor }) =>
          entries.length === 0 ? (
            // A search that takes long ends before it has searched the whole log.
            <p className={textStyles.quiet}>{nextCursor === null ? none : "None found yet."}</p>
          ) : (
            <DataTable caption={title} columns={COLUMNS} rows={entries} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </div>
  );
}
