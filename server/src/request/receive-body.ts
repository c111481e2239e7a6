import { type KeyCaller, RefusedCaller } from "../access/access.ts";
import { declaredBytesOf, IncomingBody } from "../admission/incoming-body.ts";
import { Failure } from "../errors/failure.ts";
import { BODY_LIMITS } from "../json/bounded-parser.ts";
import { isJsonType } from "../json/json.ts";
import { JsonBody } from "../json/json-body.ts";
import { type ScannedObject, scanObject } from "../json/json-text.ts";
import type { ModelOperation, ModelUse } from "../operations/operation.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

const NO_BYTES = new Uint8Array(0);
/** How a refusal names the limit that a body exceeds. */
const COUNTED_AS = {
  values: "values",
  containers: "objects and arrays",
  names: "names of members",
  strings: "strings",
  numerals: "strings of 5 to 10 digits",
  members: "fields",
} as const;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A body that is received, or was refused, and is not yet parsed. */
interface ReceivedBody {
  /** As it was sent. */
  readonly bytes: Uint8Array;
  /**
   * Estimated tokens of prompt and answer; 0: no model is asked for any; `null`: nothing was received, which does not count against
   * the account's limits.
   */
  readonly tokens: number | null;
  /**
   * The body as a JSON object.
   *
   * @throws {Failure} what is wrong with the body: `unsupported_media_type`, `request_too_large`, `request_timeout`, `invalid_json`,
   *   `invalid_request`; or what its budget has refused: `rate_limit_exceeded`, `too_many_concurrent_requests`, `server_is_overloaded`.
   */
  parse(): JsonBody;
}

/**
 * Receives the body and finds the positions of its members. It is parsed when the request is admitted, so that a caller over a
 * limit can't make the service parse. {@link ReceivedBody.parse} reports all failures, so that the key's own refusal comes first.
 *
 * @throws {RefusedCaller | Failure} if the key is refused, or seems to be and cannot be checked: its bodies must not displace those of the account's
 *   other requests.
 */
export async function receiveBody(
  request: RequestContext,
  operation: Pick<ModelOperation<ModelUse>, "maxBodyBytes" | "outputTokenFields" | "answersField" | "isFree">,
  services: Services,
): Promise<ReceivedBody> {
  const { caller } = request;
  if (caller === null) throw new Error("only a caller with a key sends a body");
  // If the stores do not answer, the request is over: it would otherwise ask them again, and wait for them twice.
  if (services.access.seemsRefused(caller, request.sourceIp)) {
    await services.access.authorize(caller, request.sourceIp);
  }
  let bytes: Uint8Array | null = null;
  try {
    requireJsonType(request.exchange);
    bytes = await startBody(request, caller, operation.maxBodyBytes, services).receive((body) =>
      request.exchange.receive(body),
    );
    // Decoding and parsing are most of what a request costs.
    const turn = services.turnShares.begin(caller.snapshot.account.id, bytes.length);
    if (turn !== null) await turn;
    const text = decode(bytes);
    const scanned = scan(text);
    const tokens =
      operation.isFree === true ? 0 : tokensOfBytes(bytes.length) + maxOutputTokens(text, scanned, operation);
    return { bytes, tokens, parse: () => parse(text, scanned) };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const tokens = bytes === null ? null : tokensOfBytes(bytes.length);
    const parse = () => {
      throw thrown;
    };
    return { bytes: bytes ?? NO_BYTES, tokens, parse };
  }
}

/** Refuses a body that is received too slowly, or whose key is refused by now. Call it every few seconds. */
export async function checkBody(request: RequestContext, { access, monotonicMs }: Services): Promise<void> {
  const { body, caller } = request;
  if (body === null || body.isOver || caller === null) return;
  body.checkPace(monotonicMs() - request.startedMs);
  if (body.isOver) return;
  try {
    await access.authorize(caller, request.sourceIp);
  } catch (thrown) {
    // If the stores do not answer, the request is authorized when its body is complete.
    if (thrown instanceof RefusedCaller) body.refuse(thrown);
  }
}

/**
 * Parses a complete body.
 *
 * @throws {Failure} `unsupported_media_type`, `invalid_json`, `invalid_request`.
 */
export function parseBody(exchange: Exchange, bytes: Uint8Array): JsonBody {
  requireJsonType(exchange);
  const text = decode(bytes);
  return parse(text, scan(text));
}

/** Reserves the declared length. @throws {Failure} `request_too_large`, or if the account sends too much at once. */
function startBody(
  request: RequestContext,
  { snapshot: { account } }: KeyCaller,
  maxBytes: number,
  { access, bodies }: Services,
): IncomingBody {
  request.body = new IncomingBody({
    sender: bodies.account(account.id),
    maxBodies: access.limitsOf(account).concurrentRequests,
    declaredBytes: declaredBytesOf(request.exchange.header("content-length")[0]),
    maxBytes,
  });
  return request.body;
}

function parse(text: string, scanned: ScannedObject): JsonBody {
  const body = JsonBody.of(text, scanned);
  if (body === null) throw notJson("not valid JSON");
  return body;
}

/** A token has about 4 bytes of text. The actual usage replaces this estimate. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function requireJsonType(exchange: Exchange): void {
  const [type] = exchange.header("content-type");
  const [encoding] = exchange.header("content-encoding");
  if (type === undefined || !isJsonType(type)) {
    throw new Failure(
      "unsupported_media_type",
      "Send the body as JSON, with `Content-Type: application/json`.",
    );
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new Failure("unsupported_media_type", "Send the body uncompressed, without `Content-Encoding`.");
  }
  // The listener has decoded the chunks of such a transfer, and nothing else.
  const [transfer = "chunked"] = exchange.header("transfer-encoding");
  if (transfer.toLowerCase() !== "chunked") {
    throw new Failure(
      "unsupported_media_type",
      "Send the body uncompressed, with no `Transfer-Encoding` but `chunked`.",
    );
  }
}

/** The maximum tokens of all answers. A member that is not a number is refused when the body is checked. */
function maxOutputTokens(
  text: string,
  { members }: ScannedObject,
  { outputTokenFields, answersField }: Pick<ModelOperation<ModelUse>, "outputTokenFields" | "answersField">,
): number {
  let max = 0;
  let answers = 1;
  for (const { name, valueStart, valueEnd } of members) {
    const isMax = outputTokenFields.includes(name);
    if (!isMax && name !== answersField) continue;
    const number = Number(text.slice(valueStart, valueEnd));
    if (!Number.isSafeInteger(number)) continue;
    if (isMax) max = Math.max(max, number);
    else answers = Math.max(answers, number);
  }
  return Math.min(max * answers, Number.MAX_SAFE_INTEGER);
}

function decode(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Failure("invalid_json", "The body is empty. Send a JSON object.");
  try {
    return decoder.decode(bytes);
  } catch {
    throw notJson("not valid UTF-8");
  }
}

/** Finds the members of the body, and bounds the cost of parsing it before it is parsed. */
function scan(text: string): ScannedObject {
  const scanned = scanObject(text, BODY_LIMITS);
  switch (scanned.kind) {
    case "object":
      return scanned;
    case "too-deep":
      throw new Failure(
        "invalid_request",
        `The body is nested deeper than ${BODY_LIMITS.depth} levels. Send it with fewer.`,
      );
    case "too-many":
      throw new Failure(
        "invalid_request",
        `The body holds more than ${BODY_LIMITS[scanned.of]} ${COUNTED_AS[scanned.of]}. Send less at once.`,
      );
    case "other":
      throw isOtherJson(text)
        ? new Failure("invalid_request", "The body must be a JSON object.")
        : notJson("not valid JSON");
  }
}

/** Whether the text is JSON but no object. An array is not parsed to find out, because it may be expensive. */
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
