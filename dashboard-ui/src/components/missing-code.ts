import type { CodeError } from "../code-loading.ts";

let latest: CodeError | null = null;
const listeners = new Set<() => void>();

/** Why a part of the page is missing until the dashboard is loaded again, for `useSyncExternalStore`; `null` while none is. */
export const missingCode = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  latest: (): CodeError | null => latest,
  /** @param error `null`: a part has come, which others may do as well. */
  notice: (error: CodeError | null): void => {
    if (error === latest) return;
    latest = error;
    for (const listener of listeners) listener();
  },
};
