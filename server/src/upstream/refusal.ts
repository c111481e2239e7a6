import { Failure } from "../errors/failure.ts";
import { OVERLOADED_STATUS } from "../errors/messages-error.ts";
import { exactJson } from "../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import { objectOf } from "../json/members.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { UpstreamRefused } from "./dialect.ts";

const DEFAULT_RETRY_AFTER_MS = 1_000;
/** The AI SDK ignores a wait of 60 seconds, and uses up its retries within seconds instead. */
const MAX_RETRY_AFTER_MS = 59_000;
/** Google's type of a detail that tells how long to wait, and the wait: a duration of Protocol Buffers as JSON. */
const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
const DURATION = /^(?<seconds>\d{1,12}(?:\.\d{1,9})?)s$/;
const MESSAGE_LENGTH = 1_000;
const DETAILS_LENGTH = 10_000;
/** The codes of a prompt that is too long: OpenAI's and GitHub's. Clients shorten the conversation then. */
const TOO_LONG_CODES = new Set([
  "context_length_exceeded",
  "model_context_window_exceeded",
  "model_max_prompt_tokens_exceeded",
]);
/** Zhipu's. A number may mean something else to another server, so that only that of a 400 counts. */
const TOO_LONG_NUMBER = "1261";
/** Words by which servers without such a code tell the same. */
const TOO_LONG = new RegExp(
  [
    "(?:prompt|input) (?:is )?too long",
    "prompt exceeds max length",
    "maximum (?:context|prompt|model|allowed input) length",
    "max context length",
    "context (?:window|size)",
    "context length exceeded",
    "(?:longer|greater) than the (?:model's )?context length",
    "context length (?:is|of) only",
    "range of input length",
    "reduce the length of the messages",
    "maximum number of tokens allowed",
    "model token limit",
    "token limit exceeded",
    "(?:prompt|input|messages) \\w+ too many tokens",
    "too many tokens(?:\\W{0,3}\\d|.*\\b(?:prompt|input|messages)\\b)",
    "token count of \\d+ exceeds",
  ].join("|"),
  "i",
);
/** Anthropic's words, where they begin a message: the operator has no credit left. */
const EMPTY_BALANCE = /^your credit balance is too low/i;
/** The answer that is asked for may be too long as well, which a shorter conversation does not help. */
const ABOUT_ANSWER = /max_\w*tokens/i;
/** The field that a message says is wrong: in quotation marks, or with a place in a list. */
const NAMED_FIELD = /\b(?:invalid|value for|field|parameter) ['"`](?<quoted>\w+)|\b(?<list>\w+)\[\d+\]/i;
/** The fields that make the prompt, and vLLM's for its tokens. Any other one may be too long as well. */
const PROMPT_FIELD = /^(?:messages|inputs?|prompt|contents?|(?:input|prompt)_(?:tokens|text|ids))\b/;
const PROVIDER_FAILED = "The model's provider failed. Try again, or choose another model.";

/**
 * An upstream's error, with the failure for the client. The upstream's message is passed on only for errors that the client
 * can correct (400, 413, 422, 424): clients of the Messages API shorten a conversation when they read certain words. A 401 or 403 concerns
 * the operator and the upstream.
 *
 * @param body In JSON, its `error` tells what is wrong.
 */
export function refusalOf(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): UpstreamRefused {
  return new UpstreamRefused(status, failureOf(status, body, headers));
}

function failureOf(status: number, body: string, headers: Readonly<Record<string, string>>): Failure {
  const error = readError(body);
  const { messagesDetails } = error;
  if (isTooLong(status, error)) {
    const message =
      error.message ?? "The messages exceed the model's context. Shorten them, or choose another model.";
    return new Failure("context_length_exceeded", message, { messagesDetails });
  }
  const cause = new Error(`the upstream answered ${status}`);
  switch (status) {
    case 400:
    case 422:
    case 424: {
      const message =
        error.message ??
        "The model's provider rejected the request as invalid. Check its parameters, or choose another model.";
      const named = error.param === null ? {} : { param: error.param };
      return new Failure("invalid_request", message, { messagesDetails, ...named });
    }
    case 413: {
      const message = error.message ?? "The request is larger than the model's provider accepts. Send less.";
      return new Failure("request_too_large", message, { messagesDetails });
    }
    case 429:
    case 503:
    case OVERLOADED_STATUS: {
      const message = "The model's provider is busy. Try again shortly.";
      return new Failure("server_is_overloaded", message, {
        retryAfterMs: retryAfterMs(headers, error.retryMs),
        cause,
      });
    }
    case 408:
    case 504: {
      const message = "The model's provider did not answer in time. Try again, or request fewer tokens.";
      return new Failure("upstream_timeout", message, { cause });
    }
    default:
      return new Failure("upstream_error", PROVIDER_FAILED, { cause });
  }
}

/** Whether an error says that the prompt is too long. */
function isTooLong(status: number, { code, message, param }: ReadError): boolean {
  if (TOO_LONG_CODES.has(code ?? "") || (code === TOO_LONG_NUMBER && status === 400)) return true;
  if (message === null || (status !== 400 && status !== 413 && status !== 422)) return false;
  const { quoted, list } = NAMED_FIELD.exec(message)?.groups ?? {};
  const isPrompt = PROMPT_FIELD.test(param ?? quoted ?? list ?? "prompt");
  return isPrompt && TOO_LONG.test(message) && !ABOUT_ANSWER.test(message);
}

/** Words by which Ollama refuses, with 500, instructions that the template of a model takes at the beginning only. */
const NOT_FIRST = /system message must be at the beginning/i;

/**
 * The effective status of an error: Google answers an unknown key with 400, Anthropic an operator's empty balance, OpenRouter a prompt that its
 * moderation has flagged with 403, and Ollama what the client can correct with 500. What a server may quote of the request does not count: clients
 * could keep others from the upstream by it.
 */
export function refusedStatus(status: number, body: string): number {
  if (status !== 400 && status !== 403 && status !== 500) return status;
  const { message, isKeyUnknown, isFlagged } = readError(body);
  if (status === 500) return NOT_FIRST.test(message ?? "") ? 400 : status;
  if (status === 403) return isFlagged ? 400 : status;
  if (isKeyUnknown) return 401;
  return EMPTY_BALANCE.test(message ?? "") ? 402 : status;
}

interface ReadError {
  readonly message: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** How long the error itself asks to wait. */
  readonly retryMs: number | null;
  /** Whether Google does not know the credential. */
  readonly isKeyUnknown: boolean;
  /** Anthropic's details of the error; `null`: there are none. */
  readonly messagesDetails: JsonObject | null;
  /** Whether OpenRouter has found a prompt that the model may not get. */
  readonly isFlagged: boolean;
}

/**
 * Reads an error in one of the forms of the servers that are otherwise compatible: OpenAI's object, one in an array (Google), its members at
 * the top (Mistral, Cohere, older vLLM), a text (LM Studio, TGI), or details of what is wrong (FastAPI, also within Mistral's message).
 */
function readError(body: string): ReadError {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // The body is not JSON, for example a proxy's page, which is not passed on.
    parsed = null;
  }
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const outer = objectOf(first);
  const error = outer.error ?? outer;
  const { message, code, param, details, metadata } = isJsonObject(error) ? error : { message: error };
  const text = textOf(message);
  const detail = text === null ? detailOf(isJsonObject(message) ? message.detail : outer.detail) : null;
  return {
    message: text ?? detail?.message ?? null,
    code: textOf(code),
    param: textOf(param) ?? detail?.param ?? null,
    retryMs: retryMsIn(details),
    isKeyUnknown: Array.isArray(details) && details.some(isUnknownKey),
    messagesDetails: messagesDetailsIn(details),
    isFlagged: isJsonObject(metadata) && typeof metadata.flagged_input === "string",
  };
}

function isUnknownKey(detail: Json): boolean {
  return isJsonObject(detail) && detail.reason === "API_KEY_INVALID";
}

/** Anthropic's code of an error, by which its libraries choose the class that they throw, with the plain members beside it. */
function messagesDetailsIn(details: Json | undefined): JsonObject | null {
  if (!isJsonObject(details) || typeof details.error_code !== "string") return null;
  const told = Object.fromEntries(
    Object.entries(details).filter(([, value]) =>
      Array.isArray(value)
        ? value.every((one: Json) => typeof one === "string")
        : value === null || typeof value !== "object",
    ),
  );
  const text = JSON.stringify(told);
  return text.length > DETAILS_LENGTH || withoutSecrets(text) !== text ? null : told;
}

/** The first of the details that FastAPI tells. Their `loc` begins with the part of the request. */
function detailOf(detail: Json | undefined): Pick<ReadError, "message" | "param"> {
  if (!Array.isArray(detail)) return { message: textOf(detail), param: null };
  const [first] = detail;
  const { msg, loc } = objectOf(first);
  const path = Array.isArray(loc) ? loc.filter((step) => typeof step !== "object") : [];
  return { message: textOf(msg), param: textOf(path.slice(1).join(".")) };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, MESSAGE_LENGTH) : null;
}

/** The wait in the details of an error of Google, which sends no header. */
function retryMsIn(details: Json | undefined): number | null {
  if (!Array.isArray(details)) return null;
  const info = details.find((detail: Json) => isJsonObject(detail) && detail["@type"] === RETRY_INFO);
  const delay = isJsonObject(info) ? textOf(info.retryDelay) : null;
  const { seconds } = DURATION.exec(delay ?? "")?.groups ?? {};
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/**
 * How long a client is to wait: as the upstream's header says, in milliseconds (OpenAI's own), in seconds or as a date (RFC 9110, section 10.2.3), or
 * else its error.
 */
function retryAfterMs(
  { "retry-after-ms": precise = "", "retry-after": value = "" }: Readonly<Record<string, string>>,
  retryMs: number | null,
): number {
  const seconds = Number(value);
  const asked = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1_000;
  const ms = [Number(precise), asked, retryMs ?? 0].find((wait) => Number.isFinite(wait) && wait > 0);
  return Math.min(ms ?? DEFAULT_RETRY_AFTER_MS, MAX_RETRY_AFTER_MS);
}

/** Whether an upstream has refused a request with words that match, in its message or the name of a field. */
export function isRefusalAbout(words: RegExp, thrown: unknown): boolean {
  if (!(thrown instanceof UpstreamRefused) || (thrown.status !== 400 && thrown.status !== 422)) return false;
  const { message, param } = thrown.failure;
  return words.test(`${param ?? ""} ${message}`);
}

/**
 * Whether all that a refusal says with matching words may be quoted from what the client has written. Some servers quote the request: Groq the names
 * of a tool's parameters, in refusals that do not come again. Such a refusal tells nothing of how the service asks.
 *
 * @param words Their named groups, if there are any, are what may be quoted; otherwise all that matches.
 */
export function isQuotation(words: RegExp, thrown: unknown, clientText: string): boolean {
  if (!(thrown instanceof UpstreamRefused)) return false;
  const { message, param } = thrown.failure;
  // A field of the request itself is not a client's name for something.
  if (param !== null && /^\w+$/.test(param) && words.test(param)) return false;
  const matches = [...`${param ?? ""} ${message}`.matchAll(new RegExp(words, `${words.flags}g`))];
  return matches.flatMap(quotableIn).every((quoted) => hasWords(clientText, quoted));
}

function quotableIn(match: RegExpMatchArray): readonly string[] {
  const named = Object.values(match.groups ?? {}).filter((text) => text !== undefined);
  return named.length === 0 ? [match[0]] : named;
}

/** Whether a JSON text has words within one of its own texts, and not as parts of longer words. */
function hasWords(json: string, words: string): boolean {
  const escaped = JSON.stringify(words)
    .slice(1, -1)
    .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`(?<!\\w)${escaped}(?!\\w)`).test(json);
}

/** The failure of a malformed response. */
export function malformedResponse(): UpstreamRefused {
  const message = "The model's provider returned a malformed response. Try again, or choose another model.";
  return new UpstreamRefused(200, new Failure("upstream_error", message));
}

/** The JSON of a part of an upstream's answer, which may have been parsed by `parseExact`. @throws {UpstreamRefused} when it is nested too deeply to be written. */
export function jsonText(value: Json): string {
  try {
    return exactJson(JSON.stringify(value));
  } catch (error) {
    throw error instanceof RangeError ? malformedResponse() : error;
  }
}
