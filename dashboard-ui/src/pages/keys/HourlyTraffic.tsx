import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../../api/client.ts";
import type { KeyUse, UsageRow } from "../../api/types.ts";
import { Chart } from "../../components/Chart.tsx";
import { formatCount } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";

const HOUR_MS = 60 * 60_000;
const HOURS = 24;
const LIVE_MS = 30_000;

type NamedKey = Pick<KeyUse, "id" | "name">;

interface HourlyTrafficProps {
  readonly old: NamedKey;
  readonly successor: NamedKey;
}

/** The requests of both keys per hour of the last day. */
export function HourlyTraffic({ old, successor }: HourlyTrafficProps) {
  const toMs = Math.floor(Date.now() / HOUR_MS + 1) * HOUR_MS;
  const times = useMemo(
    () => Array.from({ length: HOURS }, (_, hour) => new Date(toMs - (HOURS - hour) * HOUR_MS)),
    [toMs],
  );
  // Each key has a query of its own: a summary by key has only the keys of an account that cost the most.
  const oldUsage = useQuery(hoursOf(old.id, toMs));
  const successorUsage = useQuery(hoursOf(successor.id, toMs));
  const oldRows = oldUsage.data?.rows;
  const successorRows = successorUsage.data?.rows;
  const { name: oldName } = old;
  const { name: successorName } = successor;
  // The series stay the same until the data changes, so that the chart does not redraw.
  const series = useMemo(
    () => [
      { label: successorName, values: requestsOf(successorRows ?? [], times) },
      { label: oldName, values: requestsOf(oldRows ?? [], times) },
    ],
    [oldName, successorName, oldRows, successorRows, times],
  );
  return (
    <Loaded query={oldUsage} what="the last 24 hours">
      {() => (
        <Loaded query={successorUsage} what="the last 24 hours">
          {() => (
            <Chart
              label={`Requests of “${oldName}” and “${successorName}” in each hour of the last 24`}
              interval="hour"
              kind="line"
              times={times}
              series={series}
              format={formatCount}
              heightPx={160}
              // The names and colours are shown above.
              hasLegend={false}
            />
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

/** The usage of a key in the hours up to a time. */
function hoursOf(key: string, toMs: number) {
  return api.usage.summary.queryOptions(
    { from: new Date(toMs - HOURS * HOUR_MS), to: new Date(toMs), interval: "hour", key },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
}

function requestsOf(rows: readonly UsageRow[], times: readonly Date[]): number[] {
  const requests = new Map(rows.map((row) => [row.start.getTime(), row.requests]));
  return times.map((time) => requests.get(time.getTime()) ?? 0);
}
