/**
 * Tells that a request is aborted: the part of AbortSignal that reads of the database and requests to upstreams need. Every AbortSignal
 * implements it.
 */
export interface RequestSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A signal that can be aborted. It replaces AbortController, because creating one for each request costs more than reading the
 * request's body.
 */
export class RequestAbort implements RequestSignal {
  #aborted = false;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Calls all listeners, once. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
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
