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
  const usage = useQuery(
    api.usage.summary.queryOptions(
      { from: new Date(toMs - HOURS * HOUR_MS), to: new Date(toMs), interval: "hour", groupBy: "key" },
      { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
    ),
  );
  const rows = usage.data?.rows;
  const { id: oldId, name: oldName } = old;
  const { id: successorId, name: successorName } = successor;
  // The series stay the same until the data changes, so that the chart does not redraw.
  const series = useMemo(
    () => [
      { label: successorName, values: requestsOf(successorId, rows ?? [], times) },
      { label: oldName, values: requestsOf(oldId, rows ?? [], times) },
    ],
    [oldId, oldName, successorId, successorName, rows, times],
  );
  return (
    <Loaded query={usage} what="the last 24 hours">
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
  );
}

function requestsOf(id: string, rows: readonly UsageRow[], times: readonly Date[]): number[] {
  const requests = new Map(
    rows.filter(({ key }) => key?.id === id).map((row) => [row.start.getTime(), row.requests]),
  );
  return times.map((time) => requests.get(time.getTime()) ?? 0);
}
