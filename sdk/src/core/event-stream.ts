import { functionOf } from "./checks.ts";
import { notify } from "./client-events.ts";
import { APIUserAbortError } from "./errors.ts";

type Listener<Details extends readonly unknown[]> = (...details: Details) => void;

/** The events that every stream of events has. */
export interface EndEvents {
  /** The work has failed. */
  error: [error: unknown];
  /** The work has ended, with or without an error. */
  end: [];
}

/**
 * Work that reports its progress to listeners and has a result. An error that has neither a listener nor anyone who awaits the result
 * becomes an unhandled rejection, unless the caller aborted the work.
 */
export abstract class EventStream<Events extends { [Name in keyof Events]: readonly unknown[] }, Result> {
  readonly #listeners: { [Name in keyof (Events & EndEvents)]?: Listener<(Events & EndEvents)[Name]>[] } = {};
  /** Every constructor starts the work, which sets it. */
  #result = new Promise<Result>(() => {});
  #isObserved = false;

  /** Adds a listener. @returns the stream. @throws {OstiaryError} it is no function. */
  on<Name extends keyof (Events & EndEvents)>(
    name: Name,
    listener: Listener<(Events & EndEvents)[Name]>,
  ): this {
    functionOf("listener", listener);
    this.#listeners[name] = [...(this.#listeners[name] ?? []), listener];
    return this;
  }

  /** Removes a listener. @returns the stream. */
  off<Name extends keyof (Events & EndEvents)>(
    name: Name,
    listener: Listener<(Events & EndEvents)[Name]>,
  ): this {
    this.#listeners[name] = (this.#listeners[name] ?? []).filter((known) => known !== listener);
    return this;
  }

  /** Adds a listener for the next event only. @returns the stream. */
  once<Name extends keyof (Events & EndEvents)>(
    name: Name,
    listener: Listener<(Events & EndEvents)[Name]>,
  ): this {
    const once: Listener<(Events & EndEvents)[Name]> = (...details) => {
      this.off(name, once);
      listener(...details);
    };
    return this.on(name, once);
  }

  /** Resolves when the work has ended. @throws the work's error. */
  async done(): Promise<void> {
    await this.result();
  }

  /** The result. The caller that asks for it handles the error. */
  protected result(): Promise<Result> {
    this.#isObserved = true;
    return this.#result;
  }

  /** Starts the work. Call it once, in the constructor. */
  protected start(work: () => Promise<Result>): void {
    // Listeners can be added before the first event.
    this.#result = Promise.resolve()
      .then(work)
      .then(
        (result) => {
          this.#notify("end", []);
          return result;
        },
        (error: unknown) => {
          this.#notify("error", [error]);
          this.#notify("end", []);
          throw error;
        },
      );
    this.#result.catch((error: unknown) => {
      const hasListener = (this.#listeners.error ?? []).length > 0;
      if (this.#isObserved || hasListener || error instanceof APIUserAbortError) return;
      void Promise.reject(error);
    });
  }

  /** Calls the listeners of an event. */
  protected emit<Name extends keyof (Events & EndEvents)>(
    name: Name,
    ...details: (Events & EndEvents)[Name]
  ): void {
    for (const listener of this.#listenersOf(name)) listener(...details);
  }

  /** Calls the listeners of the end. The result is settled, and what they throw does not replace it. */
  #notify(name: keyof EndEvents, details: readonly unknown[]): void {
    notify(this.#listenersOf(name), details);
  }

  #listenersOf(name: keyof (Events & EndEvents)): readonly Listener<readonly unknown[]>[] {
    // A name's listeners take the details that its events have.
    return (this.#listeners[name] ?? []) as unknown as readonly Listener<readonly unknown[]>[];
  }
}
