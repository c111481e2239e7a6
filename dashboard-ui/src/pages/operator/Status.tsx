import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import type { NodeStatus } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import { Fact } from "../../components/Fact.tsx";
import { formatCount, formatDateTime, formatDuration } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import listsStyles from "../../components/lists.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import consoleStyles from "./console.module.css";
import { ProblemList } from "./ProblemList.tsx";
import { complaintOf, problemsOf } from "./status/problems.ts";
import { healthOf } from "./upstreams/health.ts";

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
      <Fact name="PostgreSQL">
        <Answers store={database} />
      </Fact>
      <Fact name="Address">{database.label}</Fact>
      <Fact name="Connections">
        {formatCount(database.busyConnections)} of {formatCount(database.maxConnections)} busy,{" "}
        {formatCount(database.waitingStatements)} waiting
      </Fact>
      <Fact name="Redis">
        {redis === null ? "Not used" : <Answers store={redis} />}
        {redis?.mayEvict === true ? <Badge tone="warning">May evict keys</Badge> : null}
        {isFenced ? <Badge tone="bad">Not the other nodes' Redis</Badge> : null}
      </Fact>
      <Fact name="Unpublished changes">{formatCount(unpublishedChanges)}</Fact>
    </Part>
  );
}

function Records({ node: { recorder, journal } }: PartProps) {
  return (
    <Part id="records" title="Records">
      <Fact name="Lag">{formatDuration(recorder.lagMs)}</Fact>
      <Fact name="Waiting entries">{formatCount(recorder.waitingEntries)}</Fact>
      <Fact name="Failed inserts">{formatCount(recorder.failures)}</Fact>
      <Fact name="Journal files">{formatCount(journal.segments)}</Fact>
      <Fact name="Rejected lines">
        {journal.rejectedLines === 0 ? "0" : <Badge tone="bad">{formatCount(journal.rejectedLines)}</Badge>}
      </Fact>
    </Part>
  );
}

function Upstreams({ node: { breakers } }: PartProps) {
  return (
    <Part id="upstreams" title="Upstreams" more={<Link to="/operator/upstreams">Details</Link>}>
      {breakers.map(({ upstream, state, isCredentialRefused }) => {
        const { tone, label } = healthOf({ breaker: state, isCredentialRefused });
        return (
          <Fact key={upstream} name={upstream}>
            <Badge tone={tone}>{label}</Badge>
          </Fact>
        );
      })}
    </Part>
  );
}

function Process({ node }: PartProps) {
  const { version, runtime, schema, startedAt, nodeId, clockSkewMs, certificateExpiresAt } = node;
  // During an upgrade, a node of an older version may answer, which does not report them.
  const settingDifferences = node.settingDifferences ?? [];
  return (
    <Part id="node" title="Node">
      <Fact name="Version">
        {version} on {runtime}
      </Fact>
      <Fact name="Schema">
        {schema.version ?? "unknown"}
        {schema.newer.length === 0 ? "" : `, newer than this version: ${schema.newer.join(", ")}`}
      </Fact>
      <Fact name="Started">{formatDateTime(startedAt)}</Fact>
      <Fact name="Clock">{clockSkewMs === null ? "Not compared yet" : skewText(clockSkewMs)}</Fact>
      <Fact name="TLS">
        {certificateExpiresAt === null
          ? "No certificate of its own"
          : `Expires ${formatDateTime(certificateExpiresAt)}`}
      </Fact>
      <Fact name="Node ID">
        <code>{nodeId}</code>
      </Fact>
      {settingDifferences.length === 0 ? null : (
        <Fact name="Differs from other nodes">
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
