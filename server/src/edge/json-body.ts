import type { AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import { JsonBody } from "../gateway/json-body.ts";
import { type ScanLimits, type ScannedObject, scanObject } from "../gateway/json-text.ts";
import type { EndpointRequest } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Deeper than any real request, and shallow enough for every recursive reader of the value, ours and upstreams'. More elements
 * than any has, a batch of embeddings as tokens included. More objects, arrays and names than any has, and few enough to be
 * parsed and checked in some tenths of a second: a name that was not seen before costs a hundred times as much as a number.
 */
const LIMITS: ScanLimits = {
  depth: 128,
  values: 4_000_000,
  containers: 200_000,
  names: 100_000,
  members: 1_000,
};
const MAX_NUMBER_LENGTH = 32;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

export interface ReadBody {
  readonly accountId: AccountId;
  readonly body: JsonBody;
  /** As it was sent. */
  readonly bytes: Uint8Array;
}

/**
 * The request's body as a JSON object. The request is admitted once its size is known and before it is parsed, so that who is over
 * a limit can't make the service parse.
 *
 * @param answerFields names of members that say how many tokens the answer may have: the largest counts.
 * @throws {Failure} `unsupported_media_type`, `invalid_json`, `invalid_request`, or as {@link EndpointRequest.readBody} and
 *   {@link EndpointRequest.confirm}.
 */
export async function readJsonBody(
  request: EndpointRequest,
  maxBytes: number,
  answerFields: readonly string[],
): Promise<ReadBody> {
  requireJsonType(request.exchange);
  const bytes = await request.readBody(maxBytes);
  const text = decoded(bytes);
  const scanned = scan(text);
  const tokens = tokensOfBytes(bytes.length) + longestAnswer(text, scanned, answerFields);
  const accountId = await request.confirm(tokens);
  request.releaseBody();
  const body = JsonBody.of(text, scanned);
  if (body === null) throw notJson("not valid JSON");
  return { accountId, body, bytes };
}

/** About 4 bytes of text are a token. What the request takes in the end takes the place of this. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function requireJsonType(exchange: Exchange): void {
  const [type] = exchange.header("content-type");
  const [encoding] = exchange.header("content-encoding");
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new Failure(
      "unsupported_media_type",
      "Send the body as JSON, with `Content-Type: application/json`.",
    );
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new Failure("unsupported_media_type", "Send the body uncompressed, without `Content-Encoding`.");
  }
}

/** What is no number is refused when the body is checked. */
function longestAnswer(text: string, { members }: ScannedObject, fields: readonly string[]): number {
  let longest = 0;
  for (const { name, valueStart, valueEnd } of members) {
    if (!fields.includes(name)) continue;
    const tokens = Number(text.slice(valueStart, Math.min(valueEnd, valueStart + MAX_NUMBER_LENGTH)));
    if (Number.isSafeInteger(tokens)) longest = Math.max(longest, tokens);
  }
  return longest;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decoded(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Failure("invalid_json", "The body is empty. Send a JSON object.");
  try {
    return decoder.decode(bytes);
  } catch {
    throw notJson("not valid UTF-8");
  }
}

/** Where the members of the body stand. Looked at before it is parsed: what it costs to parse is known then. */
function scan(text: string): ScannedObject {
  const scanned = scanObject(text, LIMITS);
  switch (scanned.kind) {
    case "object":
      return scanned;
    case "too-deep":
      throw new Failure("invalid_request", `The body is nested deeper than ${LIMITS.depth} levels.`);
    case "too-many":
      throw new Failure(
        "invalid_request",
        `The body holds more than ${LIMITS[scanned.of]} ${WORDS[scanned.of]}. Send less at once.`,
      );
    case "other":
      throw isOtherJson(text)
        ? new Failure("invalid_request", "The body must be a JSON object.")
        : notJson("not valid JSON");
  }
}

const WORDS = {
  values: "values",
  containers: "objects and arrays",
  names: "names of members",
  members: "fields",
} as const;

/** An array is not parsed to find out: it may hold anything. */
function isOtherJson(text: string): boolean {
  const first = /\S/.exec(text)?.[0];
  if (first === "[") return true;
  if (first === "{") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function notJson(reason: string): Failure {
  return new Failure(
    "invalid_json",
    `The body is ${reason}. Check it with a JSON validator and send it again.`,
  );
}
