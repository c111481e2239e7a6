import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { AuditFilters } from "./filters.ts";
import {
  gapsLeft,
  type LiveEntries,
  NOTHING_LIVE,
  withAllShown,
  withGap,
  withNews,
  withPagesRead,
} from "./live-entries.ts";
import { followAudit, type TailState } from "./tail.ts";

interface LiveOptions {
  readonly isOn: boolean;
  /** The same object as long as they are the same filters. */
  readonly filters: AuditFilters;
  /** Whether what is on the page should stay where it is. */
  readonly isReading: () => boolean;
  /** Reads the pages again. Resolves to whether that could be done. */
  readonly reload: () => Promise<boolean>;
}

/** Between two times that the pages are read again, and before the first: following begins a moment after the answer does. */
const READ_EVERY_MS = 2_000;
const READ_AFTER_MS = 500;
const FRESH_MS = 3_000;
const TOLD_MS = 20_000;

/** The entries that are recorded while the page is open. */
export function useLive({ isOn, filters, isReading, reload }: LiveOptions) {
  const [held, setHeld] = useState({ filters, live: NOTHING_LIVE });
  const [state, setState] = useState<TailState | null>(null);
  const latest = useRef(held);
  const reading = useRef<Promise<void> | null>(null);
  const readMs = useRef(Number.NEGATIVE_INFINITY);
  // Those of other filters are none.
  const live = held.filters === filters ? held.live : NOTHING_LIVE;

  useLayoutEffect(() => {
    latest.current = { filters, live: NOTHING_LIVE };
    reading.current = null;
  }, [filters]);

  const update = useCallback(
    (change: (live: LiveEntries) => LiveEntries) => {
      const before = latest.current;
      // What is told late is told of filters that are gone.
      if (before.filters !== filters) return;
      const after = change(before.live);
      if (after === before.live) return;
      latest.current = { filters, live: after };
      setHeld(latest.current);
    },
    [filters],
  );

  const readAgain = useCallback((): Promise<void> => {
    const read = async () => {
      const before = latest.current.live;
      readMs.current = performance.now();
      const isRead = await reload();
      reading.current = null;
      if (isRead) update((now) => withPagesRead(now, before));
    };
    reading.current ??= read();
    return reading.current;
  }, [reload, update]);

  useEffect(() => {
    if (!isOn) return;
    setState({ kind: "connecting" });
    const leave = followAudit(filters, {
      onState: setState,
      onLive: (isAnew) => {
        if (isAnew) update(withGap);
      },
      onNews: (news) => update((now) => withNews(now, news, isReading())),
    });
    return () => {
      leave();
      setState(null);
    };
  }, [isOn, filters, isReading, update]);

  const isConnected = state?.kind === "live";
  const missing = gapsLeft(live);
  useEffect(() => {
    // One more, or one less, is a reason to look anew: there may have been a gap while the pages were read.
    if (!isConnected || missing === 0) return;
    const sinceMs = performance.now() - readMs.current;
    const read = () => {
      // Else that is done when they have come back to the top.
      if (!isReading()) void readAgain();
    };
    const timer = setTimeout(read, Math.max(READ_AFTER_MS, READ_EVERY_MS - sinceMs));
    return () => clearTimeout(timer);
  }, [isConnected, missing, isReading, readAgain]);

  useEffect(() => {
    if (live.fresh === 0) return;
    const timer = setTimeout(() => update((now) => ({ ...now, fresh: 0 })), FRESH_MS);
    return () => clearTimeout(timer);
  }, [live.fresh, update]);

  useEffect(() => {
    if (live.told === null) return;
    const timer = setTimeout(() => update((now) => ({ ...now, told: null })), TOLD_MS);
    return () => clearTimeout(timer);
  }, [live.told, update]);

  /** Nobody reads any more: what waits is shown. */
  const show = useCallback(() => {
    if (gapsLeft(latest.current.live) > 0) void readAgain();
    else update(withAllShown);
  }, [readAgain, update]);

  return { state, live, show, readAgain };
}
