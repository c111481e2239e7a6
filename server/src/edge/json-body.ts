import { Failure } from "../errors/failure.ts";
import { isJsonObject, type JsonObject } from "../gateway/json.ts";
import type { Exchange } from "./exchange.ts";

/** Deeper than any real request; shallow enough for every recursive reader of the value, ours and upstreams'. */
const MAX_DEPTH = 128;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

export interface JsonBody {
  readonly value: JsonObject;
  /** As it was sent. */
  readonly bytes: Uint8Array;
}

/**
 * The request's body as a JSON object.
 *
 * @throws {Failure} `unsupported_media_type`, `invalid_json`, `invalid_request`, or as {@link Exchange.readBody}.
 */
export async function readJsonObject(exchange: Exchange, maxBytes: number): Promise<JsonBody> {
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
  return { value: parseJsonObject(bytes), bytes };
}

function parseJsonObject(bytes: Uint8Array): JsonObject {
  if (bytes.length === 0) throw new Failure("invalid_json", "The body is empty. Send a JSON object.");
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (depthExceeds(text, MAX_DEPTH)) {
      throw new Failure("invalid_request", `The body is nested deeper than ${MAX_DEPTH} levels.`);
    }
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = error instanceof SyntaxError ? "not valid JSON" : "not valid UTF-8";
    throw new Failure(
      "invalid_json",
      `The body is ${reason}. Check it with a JSON validator and send it again.`,
    );
  }
  if (!isJsonObject(value)) throw new Failure("invalid_request", "The body must be a JSON object.");
  return value;
}

function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > limit) return true;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
