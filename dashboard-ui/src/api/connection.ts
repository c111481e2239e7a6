/** Probes whether the service answers. A lost connection shows as one line for the page, not as an error in each part. */
const PROBE = "/trpc/service.info";
const PROBE_EVERY_MS = 2_000;
const PROBE_TIMEOUT_MS = 10_000;

let isLost = false;
let probe: ReturnType<typeof setTimeout> | undefined;
const onHealed: (() => unknown)[] = [];
/** Settles when what is asked for again since the connection is back has settled; `null` from then on. */
let healing: Promise<unknown> | null = null;
const listeners = new Set<() => void>();

/** Calls the listener when the service answers again. If it returns a promise, the connection is healing until that settles. */
export function whenHealed(listener: () => unknown): void {
  onHealed.push(listener);
}

/** For `useSyncExternalStore`. */
export const connection = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isLost: (): boolean => isLost,
  /** Whether data is asked for again because the connection is back. Listeners are not called when this ends: the data arrives then. */
  isHealing: (): boolean => healing !== null,
};

/** A `fetch` that notices when the service cannot be reached. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    set(isOfProxy(response));
    return response;
  } catch (error) {
    // A request that the page itself aborted says nothing about the service.
    if (init?.signal?.aborted !== true) set(true);
    throw error;
  }
}

/** Whether a proxy answers, because it cannot reach the service: the service's own errors are JSON. */
function isOfProxy({ status, headers }: Response): boolean {
  return status >= 502 && status <= 504 && headers.get("content-type")?.includes("json") !== true;
}

function set(lost: boolean): void {
  if (lost === isLost) return;
  isLost = lost;
  clearTimeout(probe);
  if (lost) probe = setTimeout(look, PROBE_EVERY_MS);
  else heal();
  // After the queries have been sent again: their errors would be shown for a moment otherwise.
  setTimeout(() => {
    for (const listener of listeners) listener();
  });
}

function heal(): void {
  const all = Promise.allSettled(onHealed.map((listener) => listener()));
  healing = all;
  void all.then(() => {
    if (healing === all) healing = null;
  });
}

function look(): void {
  clearTimeout(probe);
  const lookAgain = () => {
    probe = setTimeout(look, PROBE_EVERY_MS);
  };
  fetch(PROBE, { cache: "no-store", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
    (response) => (isOfProxy(response) ? lookAgain() : set(false)),
    lookAgain,
  );
}

addEventListener("online", () => {
  if (isLost) look();
});
