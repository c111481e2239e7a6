import type { ResponseBody, TransportResponse } from "./transport.ts";

const JSON_TYPE = /^application\/(?:[\w.-]{1,64}\+)?json\b/i;
/** What may come before a JSON text: white space, and a byte order mark. */
const BEFORE_JSON = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);
const OPENING_BRACE = 0x7b;

/** The answer to a request for a stream, with everything that has been read of it. */
interface BegunAnswer {
  readonly response: TransportResponse;
  /** Whether it is one JSON object in the place of events. */
  readonly isWhole: boolean;
}

/**
 * Finds whether a server that was asked for a stream answers with JSON, as some do with errors, and others, such as proxies that can't stream, with
 * answers. The type alone does not tell: some servers send events with the type of JSON.
 */
export function begunAnswer(response: TransportResponse): BegunAnswer | Promise<BegunAnswer> {
  const { "content-type": type = "" } = response.headers;
  return JSON_TYPE.test(type) ? jsonOrEvents(response) : { response, isWhole: false };
}

async function jsonOrEvents(response: TransportResponse): Promise<BegunAnswer> {
  const { body } = response;
  const pieces = body[Symbol.asyncIterator]();
  const begun: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await pieces.next();
    if (done !== true) begun.push(value);
    const first = done === true ? null : value.find((byte) => !BEFORE_JSON.has(byte));
    if (first === undefined) continue;
    const read = { ...response, body: bodyOf(begun, pieces, body) };
    return { response: read, isWhole: first === OPENING_BRACE };
  }
}

/** A body with the pieces that were read of it. */
function bodyOf(
  begun: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
  body: ResponseBody,
): ResponseBody {
  return {
    memory: body.memory,
    dropRest: () => body.dropRest?.(),
    async *[Symbol.asyncIterator]() {
      try {
        yield* begun;
        for (let piece = await rest.next(); piece.done !== true; piece = await rest.next()) yield piece.value;
      } finally {
        await rest.return?.();
      }
    },
  };
}
