import { functionOf } from "./checks.ts";
import { APIUserAbortError } from "./errors.ts";

/** What is to be done when a signal is aborted, by one listener for all. */
interface Followers {
  readonly acts: Set<() => void>;
  readonly listener: () => void;
}

/** Node warns of a leak when a signal has more than ten listeners, as that of many requests at once would. */
const followers = /* @__PURE__ */ new WeakMap<AbortSignal, Followers>();

/** The error of a request that its caller has aborted, by this signal. */
export function aborted(signal?: AbortSignal): APIUserAbortError {
  return new APIUserAbortError("The request was aborted.", { cause: signal?.reason });
}

/**
 * Acts when the signal is aborted, at once if it already is, until released.
 *
 * @throws {OstiaryError} it is not a signal: types check only callers in TypeScript.
 */
export function onAbort(signal: AbortSignal | null | undefined, act: () => void): () => void {
  if (signal == null) return () => {};
  functionOf("signal.addEventListener", signal.addEventListener);
  if (signal.aborted) {
    act();
    return () => {};
  }
  const { acts, listener } = followers.get(signal) ?? listenTo(signal);
  acts.add(act);
  return () => {
    if (!acts.delete(act) || acts.size > 0) return;
    signal.removeEventListener("abort", listener);
    followers.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Followers {
  const acts = new Set<() => void>();
  const listener = () => {
    for (const act of acts) act();
  };
  signal.addEventListener("abort", listener, { once: true });
  followers.set(signal, { acts, listener });
  return { acts, listener };
}

/**
 * Aborts the controller with the caller's signal, at once if that is already aborted, until released. `AbortSignal.any` is missing in
 * some versions of Node 20, and in others keeps memory for each request as long as the caller's signal lives.
 *
 * @throws {OstiaryError} it is not a signal: types check only callers in TypeScript.
 */
export function forwardAbort(
  signal: AbortSignal | null | undefined,
  controller: AbortController,
): () => void {
  return onAbort(signal, () => controller.abort(signal?.reason));
}

/** Settles as the work does, or rejects with the signal's reason as soon as it is aborted, which the work may ignore. */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return unlessRejected(work, (reject) => onAbort(signal, () => reject(signal.reason)));
}

/** Settles as the work does, unless it is rejected before. `listen` gets what rejects it, and returns what is called in the end. */
export async function unlessRejected<Result>(
  work: Promise<Result>,
  listen: (reject: (error: unknown) => void) => () => void,
): Promise<Result> {
  let release = () => {};
  const rejected = new Promise<never>((_, reject) => {
    release = listen(reject);
  });
  try {
    return await Promise.race([work, rejected]);
  } finally {
    release();
  }
}
