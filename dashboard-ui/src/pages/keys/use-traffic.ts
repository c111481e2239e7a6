import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { useKeyUse } from "./use-key-use.ts";

const MINUTE_MS = 60_000;
/** How far back one sees. */
export const TRAFFIC_MS = 30 * MINUTE_MS;
/** How close the points of the time before lie. */
const STEP_MS = 15_000;
/** Of a key that is busier, less of the time before is shown. */
const MAX_ENTRIES = 500;

/** How many requests there were in the minute before a moment. */
export interface TrafficPoint {
  readonly atMs: number;
  readonly requests: number;
}

/** A key's requests a minute, from half an hour before the page was opened until now. */
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
    // Of a page that is full, the minute before its oldest entry is not known.
    const knownFrom = log.nextCursor === null ? 0 : Math.min(...times) + MINUTE_MS;
    return trafficOf(times, Math.max(openedMs - TRAFFIC_MS, knownFrom), openedMs);
  }, [log, openedMs]);

  const firstLive = live[0]?.atMs ?? Number.POSITIVE_INFINITY;
  return [...before.filter((point) => point.atMs < firstLive), ...live];
}

/** Requests per minute between two moments, from when each request came. */
function trafficOf(times: readonly number[], fromMs: number, untilMs: number): TrafficPoint[] {
  const points: TrafficPoint[] = [];
  for (let atMs = fromMs; atMs <= untilMs; atMs += STEP_MS) {
    const requests = times.filter((time) => time > atMs - MINUTE_MS && time <= atMs).length;
    points.push({ atMs, requests });
  }
  return points;
}
