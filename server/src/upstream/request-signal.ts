/**
 * What tells that a request is wanted no more: as much of an AbortSignal as its way to an upstream needs. Every AbortSignal is
 * one.
 */
export interface RequestSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A signal with the means to abort it. An AbortController does the same, but one for each request costs more than reading its
 * body: an event target with all that belongs to it, of which V8 makes slow objects.
 */
export class RequestAbort implements RequestSignal {
  #aborted = false;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Tells everybody who listens, once. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** Who comes after it was aborted is not told: as with an AbortSignal. */
  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index !== -1) this.#listeners.splice(index, 1);
  }
}

/** The same for what insists on an AbortSignal. */
export function toAbortSignal(signal: RequestSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort());
  return controller.signal;
}
