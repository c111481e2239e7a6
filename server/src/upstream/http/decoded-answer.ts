import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type HeaderList, TransportError, type TransportResponse } from "../transport.ts";

/** Without this header a server may choose any content coding (RFC 9110, section 12.5.3). */
export const UNCOMPRESSED: HeaderList = ["accept-encoding", "identity"];

/** The decoders by the names of content codings. An answer with any other coding is not decoded, and counts as malformed. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** The answer without its content coding. Some servers and proxies compress although they are asked not to. */
export function decodedAnswer(answer: TransportResponse): TransportResponse {
  const coding = answer.headers["content-encoding"];
  if (coding === undefined) return answer;
  const decoder = DECODERS.get(coding.trim().toLowerCase());
  if (decoder === undefined) return answer;
  const { body } = answer;
  const decoded = decodedBody(body, decoder());
  const { memory } = body;
  return { ...answer, body: Object.assign(decoded, { memory, dropRest: () => body.dropRest?.() }) };
}

/** Leaving the iteration early closes the connection, as it does for a body without a coding. */
async function* decodedBody(
  body: AsyncIterable<Uint8Array>,
  decoder: Transform,
): AsyncGenerator<Uint8Array, void, undefined> {
  // What breaks one of them is thrown by the iteration.
  const decoded = pipeline(Readable.from(body, { objectMode: false }), decoder, () => {});
  try {
    yield* decoded;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError("cut", "the upstream's compressed answer is broken", error);
  }
}
