import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { UpstreamRefused } from "../dialect.ts";
import { malformedResponse } from "../refusal.ts";
import { type HeaderList, TransportError, type TransportResponse } from "../transport.ts";

/** Without this header a server may choose any content coding (RFC 9110, section 12.5.3). */
export const UNCOMPRESSED: HeaderList = ["accept-encoding", "identity"];

/** The decoders by the names of codings. An answer with any other coding, or with several, is not decoded, and counts as malformed. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/**
 * The maximum size of a decoded answer: so many bytes, and so many for each byte that was received. Models' answers become forty times as long at most.
 * Without a maximum, 100 KB that decode to spaces or comments, which are not passed on, would take seconds of CPU time.
 */
const FREE_BYTES = 1024 * 1024;
const MAX_RATIO = 100;

/** The coding by which HTTP/1.1 tells where a body ends. Its parser has decoded it. */
const FRAMING = "chunked";

/** The answer without its content coding or transfer coding. Some servers and proxies compress although they are asked not to. */
export function decodedAnswer(answer: TransportResponse): TransportResponse {
  const decoder = decoderOf(answer);
  if (decoder === undefined) return answer;
  const { body } = answer;
  const decoded = decodedBody(body, decoder());
  const { memory } = body;
  return { ...answer, body: Object.assign(decoded, { memory, dropRest: () => body.dropRest?.() }) };
}

function decoderOf({ headers }: TransportResponse): (() => Transform) | undefined {
  const { "content-encoding": content = "", "transfer-encoding": transfer = FRAMING } = headers;
  if (content === "" && transfer === FRAMING) return undefined;
  const codings = `${content},${transfer}`.split(",").map((coding) => coding.trim().toLowerCase());
  const [coding = "", ...others] = codings.filter((one) => one !== "" && one !== FRAMING);
  return others.length === 0 ? DECODERS.get(coding) : undefined;
}

/**
 * Leaving the iteration early closes the connection, as it does for a body without a coding.
 *
 * @throws {UpstreamRefused} beyond the maximum size. @throws {TransportError} when the answer can't be received or decoded.
 */
async function* decodedBody(
  body: AsyncIterable<Uint8Array>,
  decoder: Transform,
): AsyncGenerator<Uint8Array, void, undefined> {
  let maxBytes = FREE_BYTES;
  const received = async function* () {
    for await (const bytes of body) {
      maxBytes += MAX_RATIO * bytes.length;
      yield bytes;
    }
  };
  // What breaks one of them is thrown by the iteration.
  const decoded = pipeline(Readable.from(received(), { objectMode: false }), decoder, () => {});
  let bytes = 0;
  try {
    for await (const piece of decoded) {
      bytes += piece.length;
      if (bytes > maxBytes) throw malformedResponse();
      yield piece;
    }
  } catch (error) {
    if (error instanceof TransportError || error instanceof UpstreamRefused) throw error;
    throw new TransportError("cut", "the upstream's compressed answer is broken", error);
  }
}
