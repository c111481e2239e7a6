import { Failure } from "../errors/failure.ts";
import { JsonBody } from "../gateway/json-body.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Deeper than any real request, and shallow enough for every recursive reader of the value, ours and upstreams'. More values
 * than any has, a batch of embeddings as tokens included.
 */
const LIMITS = { depth: 128, values: 4_000_000 };
const JSON_TYPE = /^application\/json\s*(;|$)/i;

export interface ReadBody {
  readonly body: JsonBody;
  /** As it was sent. */
  readonly bytes: Uint8Array;
}

/**
 * The request's body as a JSON object.
 *
 * @throws {Failure} `unsupported_media_type`, `invalid_json`, `invalid_request`, or as {@link Exchange.readBody}.
 */
export async function readJsonBody(exchange: Exchange, maxBytes: number): Promise<ReadBody> {
  const [type] = exchange.header("content-type");
  const [encoding] = exchange.header("content-encoding");
  // The body is read even if its type is wrong: a client that is still sending would not see the answer.
  const bytes = await exchange.readBody(maxBytes);
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new Failure(
      "unsupported_media_type",
      "Send the body as JSON, with `Content-Type: application/json`.",
    );
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new Failure("unsupported_media_type", "Send the body uncompressed, without `Content-Encoding`.");
  }
  return { body: parseJsonBody(bytes), bytes };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parseJsonBody(bytes: Uint8Array): JsonBody {
  if (bytes.length === 0) throw new Failure("invalid_json", "The body is empty. Send a JSON object.");
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw notJson("not valid UTF-8");
  }
  const body = JsonBody.read(text, LIMITS);
  if (body instanceof JsonBody) return body;
  if (body === "too-deep") {
    throw new Failure("invalid_request", `The body is nested deeper than ${LIMITS.depth} levels.`);
  }
  if (body === "too-many") {
    throw new Failure(
      "invalid_request",
      `The body holds more than ${LIMITS.values} values. Send less at once.`,
    );
  }
  try {
    JSON.parse(text);
  } catch {
    throw notJson("not valid JSON");
  }
  throw new Failure("invalid_request", "The body must be a JSON object.");
}

function notJson(reason: string): Failure {
  return new Failure(
    "invalid_json",
    `The body is ${reason}. Check it with a JSON validator and send it again.`,
  );
}
