import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { useKeyUse } from "./use-key-use.ts";

const MINUTE_MS = 60_000;
/** The length of the shown period. */
export const TRAFFIC_MS = 30 * MINUTE_MS;
/** The distance between points before the page was opened. */
const STEP_MS = 15_000;
/** The maximum number of entries to fetch. For a busier key, the chart starts later. */
const MAX_ENTRIES = 500;

/** The number of requests in the minute before a time. */
export interface TrafficPoint {
  readonly atMs: number;
  readonly requests: number;
}

/** A key's requests per minute, from half an hour before the page was opened until now. */
export function useTraffic(id: string): readonly TrafficPoint[] {
  const [openedMs] = useState(() => Date.now());
  const [live, setLive] = useState<readonly TrafficPoint[]>([]);
  const { data: use, dataUpdatedAt: atMs } = useKeyUse(id);
  const from = new Date(openedMs - TRAFFIC_MS - MINUTE_MS).toISOString();
  const { data: log } = useQuery(
    api.audit.list.queryOptions(
      { key: id, from, limit: MAX_ENTRIES },
      { staleTime: Number.POSITIVE_INFINITY, gcTime: 0 },
    ),
  );

  useEffect(() => {
    if (use === undefined) return;
    setLive((points) => [
      ...points.filter((point) => point.atMs > atMs - TRAFFIC_MS && point.atMs !== atMs),
      { atMs, requests: use.requestsLastMinute },
    ]);
  }, [use, atMs]);

  const before = useMemo(() => {
    if (log === undefined) return [];
    const times = log.entries.map(({ timestamp }) => timestamp.getTime());
    // If the log has more pages, the rate is known only from a minute after the oldest entry.
    const knownFrom = log.nextCursor === null ? 0 : Math.min(...times) + MINUTE_MS;
    return trafficOf(times, Math.max(openedMs - TRAFFIC_MS, knownFrom), openedMs);
  }, [log, openedMs]);

  const firstLive = live[0]?.atMs ?? Number.POSITIVE_INFINITY;
  return [...before.filter((point) => point.atMs < firstLive), ...live];
}

/** Computes the requests per minute between two times, from the times of the requests. */
function trafficOf(times: readonly number[], fromMs: number, untilMs: number): TrafficPoint[] {
  const points: TrafficPoint[] = [];
  for (let atMs = fromMs; atMs <= untilMs; atMs += STEP_MS) {
    const requests = times.filter((time) => time > atMs - MINUTE_MS && time <= atMs).length;
    points.push({ atMs, requests });
  }
  return points;
}
