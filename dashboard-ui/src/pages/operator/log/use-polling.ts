import { useEffect, useRef, useState } from "react";
import type { EntryList } from "../../audit/entry-list.ts";
import type { TailState } from "../../audit/tail.ts";

interface PollingOptions {
  readonly isOn: boolean;
  readonly entries: EntryList;
  /** The error of the last read. */
  readonly error: unknown;
  /** Whether the page must not move. */
  readonly isReading: () => boolean;
  /** Reads the first entries again. Resolves to whether the read succeeded. */
  readonly reload: () => Promise<boolean>;
}

const READ_EVERY_MS = 3_000;

/** Reads the log of all accounts again at intervals, but not while its reader has scrolled away or its tab is in the background. */
export function usePolling({ isOn, entries, error, isReading, reload }: PollingOptions) {
  const [arrived, setArrived] = useState({ total: 0, fresh: 0 });
  const newest = useRef<string | null>(null);
  const first = entries.at(0)?.requestId ?? null;

  useEffect(() => {
    if (!isOn) return;
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      timer = setTimeout(() => void read(), READ_EVERY_MS);
    };
    const read = async () => {
      if (document.visibilityState === "visible" && !isReading()) await reload();
      if (!isOver) wait();
    };
    let isOver = false;
    wait();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isOn, isReading, reload]);

  useEffect(() => {
    const before = newest.current;
    newest.current = first;
    const fresh = isOn && before !== null ? (entries.find(before) ?? 0) : 0;
    setArrived(({ total }) => ({ total: total + fresh, fresh }));
  }, [isOn, first, entries]);

  const state: TailState | null = isOn ? { kind: error === null ? "live" : "reconnecting" } : null;
  return { state, ...arrived };
}
