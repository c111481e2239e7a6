import type { MessageFault } from "./message-fault.ts";
import type { Life, Scheduled } from "./world.ts";

export interface CallParts {
  readonly life: Life;
  readonly operation: string;
  /** Carries the operation out. @returns what tells the caller how it went. */
  readonly attempt: () => () => void;
  readonly reject: (error: Error) => void;
}

/** An operation on its way to a store, or its answer on the way back. */
export class Call {
  readonly life: Life;
  readonly operation: string;
  readonly attempt: () => () => void;
  readonly #reject: (error: Error) => void;
  /** What becomes of this message, if it is not left alone. */
  fault: MessageFault | null = null;
  /** When the caller gives up. */
  giveUp: Scheduled | null = null;
  /** Whether what is left of it is lost on its way. */
  isLost = false;
  #isSettled = false;

  constructor({ life, operation, attempt, reject }: CallParts) {
    this.life = life;
    this.operation = operation;
    this.attempt = attempt;
    this.#reject = reject;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Tells the caller how it went, unless the caller was told before. */
  settle(tell: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    if (this.giveUp !== null) this.giveUp.isCancelled = true;
    tell();
  }

  /** Fails it with an error as drivers throw it, of which only the code tells anything. */
  fail(code: string): void {
    this.settle(() => this.#reject(Object.assign(new Error(code), { code })));
  }
}
