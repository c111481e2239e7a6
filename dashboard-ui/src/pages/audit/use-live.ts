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
  /** The same object while the filters are the same. */
  readonly filters: AuditFilters;
  /** Whether the page must not move. */
  readonly isReading: () => boolean;
  /** Reads the pages again. Resolves to whether the read succeeded. */
  readonly reload: () => Promise<boolean>;
}

/** The interval between re-reads of the pages, and the delay before the first: a stream begins a moment after its answer does. */
const READ_EVERY_MS = 2_000;
const READ_AFTER_MS = 500;
const FRESH_MS = 3_000;
const NOTICE_MS = 20_000;

/** The entries that are recorded while the page is open. */
export function useLive({ isOn, filters, isReading, reload }: LiveOptions) {
  const [held, setHeld] = useState({ filters, live: NOTHING_LIVE });
  const [state, setState] = useState<TailState | null>(null);
  const latest = useRef(held);
  const reading = useRef<Promise<void> | null>(null);
  const readMs = useRef(Number.NEGATIVE_INFINITY);
  // Entries of other filters are not shown.
  const live = held.filters === filters ? held.live : NOTHING_LIVE;

  useLayoutEffect(() => {
    latest.current = { filters, live: NOTHING_LIVE };
    reading.current = null;
  }, [filters]);

  const update = useCallback(
    (change: (live: LiveEntries) => LiveEntries) => {
      const before = latest.current;
      // Late events may belong to filters that have changed.
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
      onLive: (isNewStream) => {
        if (isNewStream) update(withGap);
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
    // A change of the count is a reason to read again: a gap may have occurred while the pages were read.
    if (!isConnected || missing === 0) return;
    const sinceMs = performance.now() - readMs.current;
    const read = () => {
      // While the user reads, this waits until they return to the top.
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
    if (live.notice === null) return;
    const timer = setTimeout(() => update((now) => ({ ...now, notice: null })), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [live.notice, update]);

  /** Shows the waiting entries, because the user has stopped reading. */
  const show = useCallback(() => {
    if (gapsLeft(latest.current.live) > 0) void readAgain();
    else update(withAllShown);
  }, [readAgain, update]);

  return { state, live, show, readAgain };
}
