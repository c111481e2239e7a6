import { useCallback, useState } from "react";
import { type AuditSearch, NO_FILTERS } from "./search.ts";

type Navigate = (to: {
  readonly search: (now: AuditSearch) => AuditSearch;
  readonly replace?: boolean;
}) => Promise<void>;

/** Changes the filters and the open entry of a log, and whether it is live, which are in its page's address. */
export function useLogSearch(navigate: Navigate) {
  const [timesCleared, setTimesCleared] = useState(0);
  const changeFilters = (change: AuditSearch) =>
    void navigate({ search: (now) => ({ ...now, ...change, entry: undefined }) });
  const showEntry = useCallback(
    (entry: string | undefined, isReplaced: boolean) =>
      void navigate({ search: (now) => ({ ...now, entry }), replace: isReplaced }),
    [navigate],
  );
  const setLive = (isOn: boolean) =>
    void navigate({ search: (now) => ({ ...now, live: isOn ? true : undefined }), replace: true });
  const clearFilters = () => {
    setTimesCleared(timesCleared + 1);
    changeFilters(NO_FILTERS);
  };
  return {
    changeFilters,
    showEntry,
    clearFilters,
    setLive,
    /** A key of the filters' fields: all start again from the address, also those that hold what the address does not. */
    timesCleared,
  };
}
