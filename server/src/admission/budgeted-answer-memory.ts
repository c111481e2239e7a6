import type { RequestSignal } from "../errors/request-signal.ts";
import { type AnswerMemory, NoAnswerMemory } from "../upstream/answer-memory.ts";
import type { AnswerRefusal, BodySender } from "./body-budget.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** Answers up to this size need no reservation: concurrency slots bound what they take together. */
const UNCOUNTED_BYTES = 64 * 1024;
/**
 * The part of an answer's bytes that is reserved. Measured with four answers of 30 MB at once: an answer takes 3 to 5 times its size, and up to 8 if it
 * is translated; a request body takes up to 10.
 */
const SHARE_OF_ANSWER = 1 / 2;
/** How long an answer that is read waits for the memory of others. Its upstream waits for it meanwhile. */
const MAX_WAIT_MS = 5_000;
const RETRY_AFTER_MS = 1_000;
/** Code and message of each refusal. */
const REFUSALS = {
  account_bytes: [
    "rate_limit_exceeded",
    "The answer needs more memory than the account's concurrent requests leave for it. Retry when one of them has been answered.",
  ],
  process_bytes: [
    "server_is_overloaded",
    "The answer needs more memory than the service has at the moment. Try again shortly.",
  ],
  too_large: [
    "upstream_error",
    "The model's answer is larger than the service has memory for beside the request. Ask for less, such as fewer texts at once.",
  ],
} as const;

/** The memory of one request's answer, whose bytes are reserved in the budget of request bodies. */
export class BudgetedAnswerMemory implements AnswerMemory {
  readonly #sender: BodySender;
  readonly #signal: RequestSignal;
  readonly #body: Pick<IncomingBody, "reservedBytes"> | null;
  #bytes = 0;
  #reserved = 0;
  #isReleased = false;

  /** `signal` and `body`: of the request. Aborting it ends a wait. */
  constructor(sender: BodySender, signal: RequestSignal, body: Pick<IncomingBody, "reservedBytes"> | null) {
    this.#sender = sender;
    this.#signal = signal;
    this.#body = body;
  }

  reset(): void {
    const reserved = this.#reserved;
    this.#bytes = 0;
    this.#reserved = 0;
    if (reserved > 0) this.#sender.releaseAnswer(reserved);
  }

  reserve(bytes: number): void {
    const refusal = this.#tryReserve(this.#bytes + bytes);
    if (refusal !== null) throw this.#refuse(refusal);
  }

  reserveWhenFree(bytes: number): Promise<void> | null {
    const total = this.#bytes + bytes;
    const refusal = this.#tryReserve(total);
    if (refusal === null) return null;
    if (refusal === "too_large") throw this.#refuse(refusal);
    return this.#wait(total);
  }

  /** Releases all bytes. The request has ended: whatever still arrives for it is dropped. */
  release(): void {
    this.#isReleased = true;
    this.reset();
  }

  #wait(total: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const attempt = (isLast: boolean) => {
        const refusal = this.#signal.aborted ? null : this.#tryReserve(total);
        if (refusal !== null && !isLast) return;
        clearTimeout(timer);
        stopListening();
        this.#signal.removeEventListener("abort", retry);
        if (refusal === null) resolve();
        else reject(this.#refuse(refusal));
      };
      const retry = () => attempt(false);
      const timer = setTimeout(attempt, MAX_WAIT_MS, true);
      const stopListening = this.#sender.budget.onRelease(retry);
      this.#signal.addEventListener("abort", retry);
    });
  }

  /** Why an answer of `total` bytes can't be kept; `null`: they are reserved. */
  #tryReserve(total: number): AnswerRefusal | null {
    if (total > UNCOUNTED_BYTES && !this.#isReleased) {
      const needed = Math.ceil(total * SHARE_OF_ANSWER);
      const bodyBytes = this.#body?.reservedBytes ?? 0;
      const refusal = this.#sender.reserveAnswer(needed - this.#reserved, needed, bodyBytes);
      if (refusal !== null) return refusal;
      this.#reserved = needed;
    }
    this.#bytes = total;
    return null;
  }

  #refuse(reason: AnswerRefusal): NoAnswerMemory {
    this.#sender.budget.countRefusedAnswer(reason);
    const [code, message] = REFUSALS[reason];
    return new NoAnswerMemory(code, message, reason === "too_large" ? {} : { retryAfterMs: RETRY_AFTER_MS });
  }
}
