import type { Dispatcher } from "undici";
import type { RequestSignal } from "../request-signal.ts";
import type { ResponseBody } from "../transport.ts";

/** What is read of an answer before anybody wants it. */
const READ_AHEAD_BYTES = 64 * 1024;
const LEFT = "the request was left";

export interface ExchangeHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

/**
 * One request at undici's dispatcher: its handler, and the answer's body. Several times as cheap as undici's `request`, whose
 * body is a whole Node stream.
 */
export class UndiciExchange
  implements Dispatcher.DispatchHandler, ResponseBody, AsyncIterableIterator<Uint8Array>
{
  readonly #signal: RequestSignal;
  readonly #toError: (error: unknown) => Error;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | null = null;
  #begin: (head: ExchangeHead) => void = () => {};
  #fail: (error: Error) => void = () => {};
  #wake: (() => void) | null = null;
  #error: Error | null = null;
  #isOver = false;

  /** `toError`: what an error of undici's means. */
  constructor(signal: RequestSignal, toError: (error: unknown) => Error) {
    this.#signal = signal;
    this.#toError = toError;
    signal.addEventListener("abort", this.#abort);
  }

  /** Resolves when status and headers are in. To be called once, before the request is dispatched. */
  head(): Promise<ExchangeHead> {
    return new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was left while it waited for a connection.
    if (this.#signal.aborted || this.#isOver) controller.abort(new Error(LEFT));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // What goes before an answer, such as 103, is none.
    if (status < 200) return;
    // Nobody reads them; a stream would keep them for as long as it is open.
    controller.rawHeaders = null;
    this.#begin({ status, headers: firstOfEach(headers), body: this });
    // Not kept for as long as the body takes.
    this.#begin = () => {};
    this.#fail = () => {};
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > READ_AHEAD_BYTES) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#toError(error));
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#bytes > 0) return Promise.resolve(this.#present());
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve(this.#present());
    // What comes in the same turn is there by then.
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
    }).then(() => this.#present());
  }

  takeWhole(): Uint8Array | null {
    return this.#isOver && this.#error === null ? this.#take() : null;
  }

  /** What there is now. */
  #present(): IteratorResult<Uint8Array> {
    if (this.#bytes > 0) return { done: false, value: this.#take() };
    if (this.#error !== null) throw this.#error;
    return { done: true, value: undefined };
  }

  /** All that has come, in one piece: what came together is passed on together. */
  #take(): Uint8Array {
    const [first] = this.#chunks;
    const all = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#controller?.paused === true) this.#controller.resume();
    return all;
  }

  /** Leaving the body drops the connection, which would have to be read to its end otherwise. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#abort();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #abort = (): void => {
    if (this.#isOver) return;
    if (this.#controller === null) this.#end(this.#toError(new Error(LEFT)));
    else this.#controller.abort(new Error(LEFT));
  };

  #end(error: Error | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#signal.removeEventListener("abort", this.#abort);
    if (error !== null) this.#fail(error);
    this.#wake?.();
  }
}

function firstOfEach(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const first: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    const one = Array.isArray(value) ? value[0] : value;
    if (one !== undefined) first[name] = one;
  }
  return first;
}
