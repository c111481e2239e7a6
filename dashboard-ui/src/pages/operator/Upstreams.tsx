import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { api } from "../../api/client.ts";
import type { UpstreamHealth } from "../../api/types.ts";
import { formatExactTime } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import { Empty, Notice } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Segmented } from "../../components/Segmented.tsx";
import { periodOf } from "../usage/period.ts";
import usageStyles from "../usage/usage.module.css";
import { useCurrentHour } from "../usage/use-current-hour.ts";
import { ProblemList } from "./ProblemList.tsx";
import { readUpstreamsSearch } from "./search.ts";
import { upstreamProblems } from "./upstreams/health.ts";
import { UpstreamCharts } from "./upstreams/UpstreamCharts.tsx";
import { UpstreamTable } from "./upstreams/UpstreamTable.tsx";

/** The refresh interval of the visible page. It is short because a breaker opens for seconds. */
const LIVE_MS = 3_000;

const RANGES = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
] as const;

/** The health of the upstreams. */
export function Upstreams() {
  const health = useQuery(api.operator.upstreams.queryOptions(undefined, { refetchInterval: LIVE_MS }));
  const catalog = useQuery(api.operator.catalog.queryOptions());
  const hour = useCurrentHour();
  const { range = "24h" } = useSearch({ from: "/shell/operator/operator/upstreams" });
  const navigate = useNavigate({ from: "/operator/upstreams" });
  const period = useMemo(() => periodOf({ range }, hour), [range, hour]);
  const described = new Map(catalog.data?.upstreams.map((upstream) => [upstream.name, upstream]));
  return (
    <>
      <PageHead
        title="Upstreams"
        lead="Health of each upstream on this node since it started. Updates live."
      />
      <Loaded query={health} what="upstreams">
        {({ upstreams }) => (
          <>
            {upstreams.map(({ name, credentialRefusedAt }) =>
              credentialRefusedAt === null ? null : (
                <Notice key={name} tone="error">
                  <p>
                    <strong>{name}</strong> rejected the service's credential, last at{" "}
                    {formatExactTime(credentialRefusedAt)}. Check the value that <code>credentialEnv</code> or{" "}
                    <code>credentialFile</code> names in the catalog file.
                  </p>
                </Notice>
              ),
            )}
            {upstreams.length === 0 ? (
              <Empty title="No upstreams">
                <p>
                  <Link to="/operator/connect">Connect a provider</Link> to serve its models.
                </p>
              </Empty>
            ) : (
              <>
                <Problems upstreams={upstreams} />
                <UpstreamTable upstreams={upstreams} described={described} />
                <div className={usageStyles.usageHead}>
                  <h2>Latency and errors</h2>
                  <Segmented
                    label="Time"
                    value={range}
                    options={RANGES}
                    onChange={(chosen) =>
                      void navigate({
                        search: readUpstreamsSearch({ range: chosen }),
                        replace: true,
                        resetScroll: false,
                      })
                    }
                  />
                </div>
                <UpstreamCharts period={period} />
              </>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

/** What is wrong with upstreams beside rejected credentials, which have notices of their own. */
function Problems({ upstreams }: { readonly upstreams: readonly UpstreamHealth[] }) {
  const problems = upstreamProblems(upstreams);
  if (problems.length === 0 && upstreams.some(({ credentialRefusedAt }) => credentialRefusedAt !== null))
    return null;
  return <ProblemList problems={problems} none="All upstreams are healthy." />;
}
