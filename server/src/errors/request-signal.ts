/**
 * Tells that a request is aborted: the part of AbortSignal that reads of the database and requests to upstreams need. Every AbortSignal
 * implements it.
 */
export interface RequestSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Why a request was aborted: its client has disconnected, the service stops, or the request has ended, which stops what still runs for it. */
type AbortCause = "client_gone" | "shutdown" | "ended";

/** The signal of a request under `/v1`. */
export interface CausedSignal extends RequestSignal {
  /** Why the request was aborted first; `null` before. */
  readonly cause: AbortCause | null;
}

/**
 * A signal that can be aborted. It replaces AbortController, because creating one for each request costs more than reading the
 * request's body.
 */
export class RequestAbort implements CausedSignal {
  #cause: AbortCause | null = null;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#cause !== null;
  }

  get cause(): AbortCause | null {
    return this.#cause;
  }

  /** Calls all listeners, once. A later cause changes nothing. */
  abort(cause: AbortCause): void {
    if (this.#cause !== null) return;
    this.#cause = cause;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** A listener that is added after the abort is not called, as with an AbortSignal. */
  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index !== -1) this.#listeners.splice(index, 1);
  }
}

/** Converts the signal for an API that requires an AbortSignal. */
export function toAbortSignal(signal: RequestSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort());
  return controller.signal;
}
