import type { Answer } from "./answer.ts";
import { OstiaryError } from "./errors.ts";

/** Data with its HTTP response. */
export interface WithResponse<Data> {
  /** The result. */
  readonly data: Data;
  /** The HTTP response. Its body has already been read or is being streamed. */
  readonly response: Response;
  /** The `x-request-id` of the answer, for the operator of the service; `null` without one. */
  readonly requestId: string | null;
}

/**
 * The result of a request. Await it for the data; {@link APIPromise.withResponse} and {@link APIPromise.asResponse} return the HTTP
 * response.
 */
export class APIPromise<Data> extends Promise<Data> {
  readonly #answer: Promise<Answer>;
  readonly #read: (answer: Answer) => Promise<Data>;
  #data: Promise<Data> | null = null;
  #isTaken = false;

  constructor(answer: Promise<Answer>, read: (answer: Answer) => Promise<Data>) {
    // The data is read on demand, because a caller of `asResponse` needs an unread body.
    super((resolve) => resolve(undefined as Data));
    this.#answer = answer;
    this.#read = read;
  }

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /**
   * The HTTP response with its body unread, to which neither `timeout` nor `signal` applies. Errors are thrown as usual.
   *
   * @throws {OstiaryError} the promise was awaited before, which reads the body.
   */
  async asResponse(): Promise<Response> {
    if (this.#data !== null) throw alreadyRead();
    this.#isTaken = true;
    const { wire, release } = await this.#answer;
    release();
    return wire.toResponse();
  }

  /** The data with its HTTP response. */
  async withResponse(): Promise<WithResponse<Data>> {
    const [data, { wire }] = await Promise.all([this.#parsed(), this.#answer]);
    return { data, response: wire.toResponse(), requestId: wire.header("x-request-id") };
  }

  // biome-ignore lint/suspicious/noThenProperty: the class is a promise
  override then<Then = Data, Else = never>(
    onFulfilled?: ((value: Data) => Then | PromiseLike<Then>) | null,
    onRejected?: ((reason: unknown) => Else | PromiseLike<Else>) | null,
  ): Promise<Then | Else> {
    return this.#parsed().then(onFulfilled, onRejected);
  }

  #parsed(): Promise<Data> {
    this.#data ??= this.#answer.then((answer) => {
      if (this.#isTaken) throw alreadyRead();
      return this.#read(answer);
    });
    return this.#data;
  }
}

function alreadyRead(): OstiaryError {
  return new OstiaryError("The body can be read only once: await the result, or call asResponse.");
}
