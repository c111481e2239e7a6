import type { CatalogUpstream, UpstreamHealth } from "../../../api/types.ts";
import { Badge } from "../../../components/Badge.tsx";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { ExactTime } from "../../../components/ExactTime.tsx";
import { formatCount } from "../../../components/format.ts";
import { Pair } from "../../../components/Pair.tsx";
import textStyles from "../../../components/text.module.css";
import { Dialect } from "../Dialect.tsx";
import { healthOf } from "./health.ts";
import { TestUpstream } from "./TestUpstream.tsx";
import styles from "./UpstreamTable.module.css";

interface UpstreamTableProps {
  readonly upstreams: readonly UpstreamHealth[];
  /** The catalog's upstreams by name. */
  readonly described: ReadonlyMap<string, CatalogUpstream>;
}

/** Upstreams with their health. */
export function UpstreamTable({ upstreams, described }: UpstreamTableProps) {
  return (
    <DataTable
      caption="Health of upstreams on this node"
      className={styles.upstreamTable}
      columns={columnsFor(described)}
      rows={upstreams}
      rowKey={({ name }) => name}
    />
  );
}

function columnsFor(described: UpstreamTableProps["described"]): readonly Column<UpstreamHealth>[] {
  return [
    {
      label: "Upstream",
      kind: "name",
      cell: ({ name }) => {
        const upstream = described.get(name);
        return <Pair first={name}>{upstream === undefined ? null : <Dialect upstream={upstream} />}</Pair>;
      },
    },
    { label: "Health", cell: (upstream) => <Health upstream={upstream} /> },
    {
      label: "In flight",
      kind: "number",
      cell: ({ name, inFlight }) => {
        const upstream = described.get(name);
        return (
          <Pair first={formatCount(inFlight)}>
            {upstream === undefined ? null : `of ${formatCount(upstream.maxConcurrency)}`}
          </Pair>
        );
      },
    },
    { label: "Waiting", kind: "number", cell: ({ waiting }) => formatCount(waiting) },
    { label: "Answered", kind: "number", cell: ({ successes }) => formatCount(successes) },
    { label: "Failed", kind: "number", cell: ({ failures }) => formatCount(failures) },
    {
      label: "Last failure",
      className: styles.lastFailure,
      cell: (health) => <LastFailure health={health} />,
    },
    { label: "Test", isLabelHidden: true, kind: "actions", cell: ({ name }) => <TestUpstream name={name} /> },
  ];
}

function Health({ upstream: { breaker, credentialRefusedAt } }: { readonly upstream: UpstreamHealth }) {
  const { tone, label, note } = healthOf({ breaker, isCredentialRefused: credentialRefusedAt !== null });
  return <Pair first={<Badge tone={tone}>{label}</Badge>}>{note}</Pair>;
}

function LastFailure({ health: { lastFailure } }: { readonly health: UpstreamHealth }) {
  if (lastFailure === null) return <span className={textStyles.quiet}>none</span>;
  return (
    <Pair first={lastFailure.reason === "" ? "unknown" : lastFailure.reason}>
      <ExactTime at={lastFailure.at} />
    </Pair>
  );
}
