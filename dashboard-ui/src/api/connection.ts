/** The path that is requested to find out whether the service answers again. */
const PROBE_PATH = "/trpc/service.info";
const PROBE_EVERY_MS = 2_000;
const PROBE_TIMEOUT_MS = 10_000;

let isLost = false;
let probeTimer: ReturnType<typeof setTimeout> | undefined;
const onReconnected: (() => unknown)[] = [];
/** Settles when the data that is loaded again after a reconnection has arrived; `null` from then on. */
let refreshing: Promise<unknown> | null = null;
const listeners = new Set<() => void>();

/** Calls the listener when the service answers again. {@link connection.isRefreshing} holds until its promise settles. */
export function whenReconnected(listener: () => unknown): void {
  onReconnected.push(listener);
}

/**
 * The state of the connection to the service, for `useSyncExternalStore`. A lost connection is shown as one line on the page, not as an error in each
 * part.
 */
export const connection = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isLost: (): boolean => isLost,
  /** Whether data is being loaded again after a reconnection. Listeners are not called when this ends, because the data arrives then. */
  isRefreshing: (): boolean => refreshing !== null,
};

/** A `fetch` that notices when the service cannot be reached. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    setLost(isOfProxy(response));
    return response;
  } catch (error) {
    // A request that the page itself aborted says nothing about the service.
    if (init?.signal?.aborted !== true) setLost(true);
    throw error;
  }
}

/** Whether a proxy answers, because it cannot reach the service: the service's own errors are JSON. */
function isOfProxy({ status, headers }: Response): boolean {
  return status >= 502 && status <= 504 && headers.get("content-type")?.includes("json") !== true;
}

function setLost(lost: boolean): void {
  if (lost === isLost) return;
  isLost = lost;
  clearTimeout(probeTimer);
  if (lost) probeTimer = setTimeout(probe, PROBE_EVERY_MS);
  else refresh();
  // Listeners are called after the queries have been sent again. Otherwise the errors of the queries would be shown for a moment.
  setTimeout(() => {
    for (const listener of listeners) listener();
  });
}

function refresh(): void {
  const all = Promise.allSettled(onReconnected.map((listener) => listener()));
  refreshing = all;
  void all.then(() => {
    if (refreshing === all) refreshing = null;
  });
}

function probe(): void {
  clearTimeout(probeTimer);
  const probeLater = () => {
    probeTimer = setTimeout(probe, PROBE_EVERY_MS);
  };
  fetch(PROBE_PATH, { cache: "no-store", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
    (response) => (isOfProxy(response) ? probeLater() : setLost(false)),
    probeLater,
  );
}

addEventListener("online", () => {
  if (isLost) probe();
});
