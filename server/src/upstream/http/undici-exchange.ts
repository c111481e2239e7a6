import type { Dispatcher } from "undici";
import type { RequestSignal } from "../../errors/request-signal.ts";
import type { SharedTimeout, SharedTimeouts } from "../../errors/shared-timeouts.ts";
import type { AnswerMemory } from "../answer-memory.ts";
import type { ResponseBody, TransportResponse } from "../transport.ts";
import { decodedAnswer } from "./decoded-answer.ts";

/** The bytes of an answer that are buffered before they are read. */
const READ_AHEAD_BYTES = 64 * 1024;
/** What may follow a complete answer: the end of its body, which most servers send by itself. Anything longer costs more than a connection. */
const MAX_REST_BYTES = 64 * 1024;
const MAX_REST_MS = 1_000;
const LEFT = "the request was left";
/** Headers whose values are one list, in however many lines they are (RFC 9110, section 5.3). Of any other the first value counts. */
const LISTS = new Set(["content-encoding", "transfer-encoding"]);
const NOTHING = () => {};

/** The answer did not end within `totalMs`, even if it is still arriving. */
export class AnswerOverdue extends Error {
  override readonly name = "AnswerOverdue";
}

interface UndiciExchangeParts {
  readonly signal: RequestSignal;
  /** Converts undici's errors, and {@link AnswerOverdue}. `wasSent`: as an error of the transport has it. */
  readonly toError: (error: unknown, wasSent: boolean) => Error;
  /** The timeouts of whole answers. */
  readonly totals: SharedTimeouts;
  /** As the answer's body has it. */
  readonly memory: AnswerMemory | undefined;
}

/**
 * One request of undici's dispatcher: its handler and the answer's body. It is several times as cheap as undici's `request`,
 * whose body is a Node stream.
 */
export class UndiciExchange
  implements Dispatcher.DispatchHandler, ResponseBody, AsyncIterableIterator<Uint8Array>
{
  readonly memory: AnswerMemory | undefined;
  readonly #signal: RequestSignal;
  readonly #toError: UndiciExchangeParts["toError"];
  readonly #total: SharedTimeout;
  /** Ends the wait for the rest of an answer; `null` unless the rest is dropped. */
  #rest: NodeJS.Timeout | null = null;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | null = null;
  #begin: (head: TransportResponse) => void = NOTHING;
  #fail: (error: Error) => void = NOTHING;
  #wake: (() => void) | null = null;
  #error: Error | null = null;
  /** Whether the request is being sent, or was. */
  #isSent = false;
  #isOver = false;
  /** Whether the answer is complete, and what still arrives is dropped. */
  #isDropping = false;

  constructor({ signal, toError, totals, memory }: UndiciExchangeParts) {
    this.memory = memory;
    this.#signal = signal;
    this.#toError = toError;
    this.#total = totals.begin(() => this.#leave(new AnswerOverdue()));
    signal.addEventListener("abort", this.#abort);
  }

  /** Resolves with status and headers. Call it once, before the request is dispatched. */
  head(): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request was aborted while it waited for a connection.
    if (this.#signal.aborted || this.#isOver) controller.abort(new Error(LEFT));
    else this.#isSent = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // The raw headers are not used, and a stream would keep them in memory.
    controller.rawHeaders = null;
    this.#begin(decodedAnswer({ status, headers: oneOfEach(headers), body: this }));
    // The callbacks are dropped, so that the body does not keep them in memory.
    this.#begin = NOTHING;
    this.#fail = NOTHING;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#isDropping) {
      if (this.#bytes > MAX_REST_BYTES) this.#abort();
      return;
    }
    this.#chunks.push(chunk);
    if (this.#bytes > READ_AHEAD_BYTES) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#toError(error, this.#isSent));
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#bytes > 0) return Promise.resolve(this.#present());
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve(this.#present());
    // By then all chunks of the same turn are buffered.
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
    }).then(() => this.#present());
  }

  takeWhole(): Uint8Array | null {
    return this.#isOver && this.#error === null ? this.#take() : null;
  }

  dropRest(): void {
    if (this.#isOver || this.#isDropping) return;
    this.#isDropping = true;
    this.#chunks = [];
    this.#total.clear();
    this.#rest = setTimeout(this.#abort, MAX_REST_MS);
    // The request ends before the body does.
    this.#signal.removeEventListener("abort", this.#abort);
    if (this.#controller?.paused === true) this.#controller.resume();
  }

  /** The buffered chunks, the error or the end. */
  #present(): IteratorResult<Uint8Array> {
    if (this.#bytes > 0) return { done: false, value: this.#take() };
    if (this.#error !== null) throw this.#error;
    return { done: true, value: undefined };
  }

  /** Takes all buffered chunks as one piece. */
  #take(): Uint8Array {
    const [first] = this.#chunks;
    const all = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#controller?.paused === true) this.#controller.resume();
    return all;
  }

  /** Closes the connection, which would have to be read to its end otherwise, unless the rest is dropped. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#isDropping) this.#abort();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #abort = (): void => this.#leave(new Error(LEFT));

  #leave(reason: Error): void {
    if (this.#isOver) return;
    if (this.#controller === null) this.#end(this.#toError(reason, this.#isSent));
    else this.#controller.abort(reason);
  }

  #end(error: Error | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#total.clear();
    if (this.#rest !== null) clearTimeout(this.#rest);
    this.#signal.removeEventListener("abort", this.#abort);
    if (error !== null) this.#fail(error);
    this.#wake?.();
  }
}

function oneOfEach(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const ofEach: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    const one = Array.isArray(value) ? oneValueOf(name, value) : value;
    if (one !== undefined) ofEach[name] = one;
  }
  return ofEach;
}

function oneValueOf(name: string, values: readonly string[]): string | undefined {
  return LISTS.has(name) ? values.join(",") : values[0];
}
