/** Whether the service answers. What a person sees of it is one line for the whole page, not an error in each of its parts. */
const PROBE = "/trpc/service.info";
const PROBE_EVERY_MS = 2_000;

let isLost = false;
let probe: ReturnType<typeof setTimeout> | undefined;
let onHealed: () => void = () => {};
const listeners = new Set<() => void>();

/** Told when the service answers again. */
export function whenHealed(listener: () => void): void {
  onHealed = listener;
}

/** For `useSyncExternalStore`. */
export const connection = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isLost: (): boolean => isLost,
};

/** `fetch`, which notices when the service can't be reached. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    set(false);
    return response;
  } catch (error) {
    // What the page itself gave up says nothing about the service.
    if (init?.signal?.aborted !== true) set(true);
    throw error;
  }
}

function set(lost: boolean): void {
  if (lost === isLost) return;
  isLost = lost;
  clearTimeout(probe);
  if (lost) probe = setTimeout(look, PROBE_EVERY_MS);
  else onHealed();
  for (const listener of listeners) listener();
}

function look(): void {
  clearTimeout(probe);
  fetch(PROBE, { cache: "no-store" }).then(
    () => set(false),
    () => {
      probe = setTimeout(look, PROBE_EVERY_MS);
    },
  );
}

addEventListener("online", () => {
  if (isLost) look();
});
