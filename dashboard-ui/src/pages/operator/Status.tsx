import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import type { NodeStatus } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import { formatCount, formatDateTime, formatDuration } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import listsStyles from "../../components/lists.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import consoleStyles from "./console.module.css";
import { ProblemList } from "./ProblemList.tsx";
import { complaintOf, problemsOf } from "./status/problems.ts";
import { HEALTH } from "./upstreams/health.ts";

/** The refresh interval of the visible page. */
const LIVE_MS = 3_000;

/** The state of the node that answers: its version, stores, records and upstreams. */
export function Status() {
  const status = useQuery(api.operator.status.queryOptions(undefined, { refetchInterval: LIVE_MS }));
  return (
    <>
      <PageHead title="Status" lead="State of the node that served this page. Updates live." />
      <Loaded query={status} what="the status">
        {(node) => (
          <>
            <ProblemList problems={problemsOf(node, Date.now())} none="Everything works." />
            <div className={consoleStyles.consoleColumns}>
              <Stores node={node} />
              <Process node={node} />
              <Records node={node} />
              <Upstreams node={node} />
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

interface PartProps {
  readonly node: NodeStatus;
}

function Stores({ node: { database, redis, isFenced, unpublishedChanges } }: PartProps) {
  return (
    <Part id="stores" title="Stores">
      <Fact label="PostgreSQL">
        <Answers store={database} />
      </Fact>
      <Fact label="Address">{database.label}</Fact>
      <Fact label="Connections">
        {formatCount(database.busyConnections)} of {formatCount(database.maxConnections)} busy,{" "}
        {formatCount(database.waitingStatements)} waiting
      </Fact>
      <Fact label="Redis">
        {redis === null ? "Not used" : <Answers store={redis} />}
        {redis?.mayEvict === true ? <Badge tone="warning">May evict keys</Badge> : null}
        {isFenced ? <Badge tone="bad">Not the other nodes' Redis</Badge> : null}
      </Fact>
      <Fact label="Unpublished changes">{formatCount(unpublishedChanges)}</Fact>
    </Part>
  );
}

function Records({ node: { recorder, journal } }: PartProps) {
  return (
    <Part id="records" title="Records">
      <Fact label="Lag">{formatDuration(recorder.lagMs)}</Fact>
      <Fact label="Waiting entries">{formatCount(recorder.waitingEntries)}</Fact>
      <Fact label="Failed inserts">{formatCount(recorder.failures)}</Fact>
      <Fact label="Journal files">{formatCount(journal.segments)}</Fact>
      <Fact label="Rejected lines">
        {journal.rejectedLines === 0 ? "0" : <Badge tone="bad">{formatCount(journal.rejectedLines)}</Badge>}
      </Fact>
    </Part>
  );
}

function Upstreams({ node: { breakers } }: PartProps) {
  return (
    <Part id="upstreams" title="Upstreams" more={<Link to="/operator/upstreams">Details</Link>}>
      {breakers.map(({ upstream, state }) => (
        <Fact key={upstream} label={upstream}>
          <Badge tone={HEALTH[state].tone}>{HEALTH[state].label}</Badge>
        </Fact>
      ))}
    </Part>
  );
}

function Process({ node }: PartProps) {
  const { version, runtime, schema, startedAt, nodeId, clockSkewMs, certificateExpiresAt } = node;
  // During an upgrade, a node of an older version may answer, which does not report them.
  const settingDifferences = node.settingDifferences ?? [];
  return (
    <Part id="node" title="Node">
      <Fact label="Version">
        {version} on {runtime}
      </Fact>
      <Fact label="Schema">
        {schema.version ?? "unknown"}
        {schema.newer.length === 0 ? "" : `, newer than this version: ${schema.newer.join(", ")}`}
      </Fact>
      <Fact label="Started">{formatDateTime(startedAt)}</Fact>
      <Fact label="Clock">{clockSkewMs === null ? "Not compared yet" : skewText(clockSkewMs)}</Fact>
      <Fact label="TLS">
        {certificateExpiresAt === null
          ? "No certificate of its own"
          : `Expires ${formatDateTime(certificateExpiresAt)}`}
      </Fact>
      <Fact label="Node ID">
        <code>{nodeId}</code>
      </Fact>
      {settingDifferences.length === 0 ? null : (
        <Fact label="Differs from other nodes">
          {settingDifferences.map(({ setting, since }) => (
            <div key={setting}>
              <Badge tone="warning">{SETTINGS[setting]}</Badge> since {formatDateTime(since)}
            </div>
          ))}
        </Fact>
      )}
    </Part>
  );
}

/** The settings that all nodes must share. */
const SETTINGS: Readonly<Record<NodeStatus["settingDifferences"][number]["setting"], string>> = {
  plans: "Plans",
  catalog: "Catalog",
  prices: "Prices",
  responses: "Stored responses",
};

/** The difference in whole seconds, because comparing the clocks takes a part of one. */
function skewText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return "Agrees with the database";
  return `${formatDuration(seconds * 1_000)} ${ms > 0 ? "ahead of" : "behind"} the database`;
}

function Answers({ store }: { readonly store: Pick<NodeStatus["database"], "isUp" | "problem" | "pingMs"> }) {
  if (!store.isUp) {
    const complaint = complaintOf(store);
    return <Badge tone="bad">{complaint.charAt(0).toUpperCase() + complaint.slice(1)}</Badge>;
  }
  return (
    <>
      <Badge tone="good">Answers</Badge>{" "}
      {store.pingMs === null ? null : `in ${formatDuration(Math.ceil(store.pingMs))}`}
    </>
  );
}

interface PanelProps {
  readonly id: string;
  readonly title: string;
  readonly more?: ReactNode;
  readonly children: ReactNode;
}

function Part({ id, title, more, children }: PanelProps) {
  return (
    <section className={panelStyles.panel} aria-labelledby={id}>
      <div className={panelStyles.panelHead}>
        <h2 id={id}>{title}</h2>
        {more}
      </div>
      <dl className={listsStyles.facts}>{children}</dl>
    </section>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
