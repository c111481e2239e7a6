import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { AuditEntry } from "../../api/types.ts";
import type { EntryList } from "./entry-list.ts";
import { entryQuery, useLogSource } from "./log-source.ts";

/** The entry whose details are open. */
export interface OpenEntry {
  /** Undefined until the entry is loaded. */
  readonly entry: AuditEntry | undefined;
  /** The entry's place in the list; `null` when the list does not contain it. */
  readonly place: number | null;
  /** The reason why it could not be loaded. */
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly retry: () => void;
}

/**
 * The entry that the address names, from the list or from a query of its own.
 *
 * @param requestId the request that the address names.
 * @param showEntry puts another request, or none, into the address. `isReplaced`: without a new step of the browser's history.
 * @param isListPending whether the list may still load it.
 */
export function useOpenEntry(
  requestId: string | undefined,
  showEntry: (entry: string | undefined, isReplaced: boolean) => void,
  entries: EntryList,
  isListPending: boolean,
) {
  const source = useLogSource();
  const { history } = useRouter();
  const place = useMemo(
    () => (requestId === undefined ? null : entries.find(requestId)),
    [entries, requestId],
  );
  const linked = useQuery({
    ...entryQuery(source, requestId ?? ""),
    enabled: requestId !== undefined && place === null && !isListPending,
  });

  const wasOpenedHere = useRef(false);
  const isOpen = requestId !== undefined;
  useEffect(() => {
    if (!isOpen) wasOpenedHere.current = false;
  }, [isOpen]);

  const open = useCallback(
    (at: number) => {
      if (!isOpen) wasOpenedHere.current = true;
      const entry = entries.at(entries.indexOf(at))?.requestId;
      // Going back closes the details. Moving between entries adds no step to the history.
      showEntry(entry, isOpen);
    },
    [entries, isOpen, showEntry],
  );
  const close = () => {
    if (wasOpenedHere.current) history.back();
    else showEntry(undefined, true);
  };

  const opened: OpenEntry | null = isOpen
    ? {
        entry: place === null ? linked.data : entries.at(entries.indexOf(place)),
        place,
        error: linked.error,
        isFetching: linked.isFetching,
        retry: () => void linked.refetch(),
      }
    : null;
  return { opened, open, close };
}
