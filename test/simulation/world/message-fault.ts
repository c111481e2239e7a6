/** What can become of a single message to a store, or of its answer. */
export const MESSAGE_FATES = [
  "request-lost",
  "answer-lost",
  "request-late",
  "answer-late",
  /** The store carries the request out once more, later: a driver or a proxy has sent it again. */
  "request-twice",
] as const;

export type MessageFate = (typeof MESSAGE_FATES)[number];

/** A fate that waits for its message. */
export interface MessageFault {
  /** Which operation it hits; `null`: whichever comes first. */
  readonly operation: string | null;
  /** So many that it would hit are spared. */
  readonly skip: number;
  readonly fate: MessageFate;
  /** For a message that is late or comes twice. */
  readonly byMs: number;
}

/** The faults that wait on one link. */
export class MessageFaults {
  #waiting: { readonly fault: MessageFault; skip: number }[] = [];

  add(fault: MessageFault): void {
    this.#waiting.push({ fault, skip: fault.skip });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** @returns what is to become of the next message, once. */
  takeFor(operation: string): MessageFault | null {
    const at = this.#waiting.findIndex(
      ({ fault }) => fault.operation === null || fault.operation === operation,
    );
    const next = this.#waiting[at];
    if (next === undefined || next.skip-- > 0) return null;
    this.#waiting.splice(at, 1);
    return next.fault;
  }
}
