import type { JsonObject } from "../../json/json.ts";
import type { ResponseBody } from "../transport.ts";
import { isFailure, refusedResponse } from "./failed-response.ts";

/** How long the last event of a failed response is waited for. OpenAI and Azure send it together with the `error` event. */
const MAX_WAIT_MS = 1_000;

/**
 * The failure of a streamed response. OpenAI and Azure send an `error` event and then `response.failed`, which has the usage, so that the first
 * is held until the next event or the end of the stream.
 */
export class HeldFailure {
  #error: JsonObject | null = null;

  /** Whether an `error` event was read, and nothing after it. */
  get isHeld(): boolean {
    return this.#error !== null;
  }

  /**
   * Takes an event. Its usage, if it has one, is read before.
   *
   * @returns whether the event is held.
   * @throws {UpstreamRefused} for a failure that is complete.
   */
  take(event: JsonObject): boolean {
    if (this.#error !== null) {
      const { type, response } = event;
      throw refusedResponse(this.#error, type === "response.failed" ? response : null);
    }
    if (!isFailure(event)) return false;
    if (event.type !== "error") throw refusedResponse(event);
    this.#error = event;
    return true;
  }

  /** Called when the stream has ended. @throws {UpstreamRefused} if a failure is held. */
  end(): void {
    if (this.#error !== null) throw refusedResponse(this.#error);
  }
}

/** A body that ends soon after a failure is held, even if its upstream keeps the connection open or breaks it off. */
export function endingAfter(failure: HeldFailure, body: ResponseBody): ResponseBody {
  return {
    memory: body.memory,
    dropRest: () => body.dropRest?.(),
    [Symbol.asyncIterator]: () => endingIterator(failure, body[Symbol.asyncIterator]()),
  };
}

type Piece = IteratorResult<Uint8Array>;

const END: Piece = { done: true, value: undefined };

function endingIterator(
  failure: HeldFailure,
  pieces: AsyncIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let isLeft = false;
  /** One for all pieces, which may be comments. */
  let deadline: Promise<Piece> | null = null;
  const lastPiece = () => {
    deadline ??= new Promise((resolve) => {
      setTimeout(() => {
        isLeft = true;
        resolve(END);
      }, MAX_WAIT_MS).unref();
    });
    // The failure that is held says more than a connection that breaks off.
    return Promise.race([pieces.next().catch(() => END), deadline]);
  };
  return {
    next: () => (failure.isHeld ? lastPiece() : pieces.next()),
    return: async () => {
      const closed = pieces.return?.().catch(() => {});
      // A generator that still waits for its upstream closes only after that.
      if (!isLeft) await closed;
      return END;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
