import type { JsonObject } from "../json/json.ts";
import type { ErrorCode, Failure } from "./failure.ts";

/** The types of errors of Anthropic's Messages API. */
export const MESSAGES_ERROR_TYPES = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
] as const;
type MessagesErrorType = (typeof MESSAGES_ERROR_TYPES)[number];

/** Anthropic's status for an overloaded server. */
export const OVERLOADED_STATUS = 529;

/** The codes whose type is not `invalid_request_error`. */
const TYPES: { readonly [Code in ErrorCode]?: MessagesErrorType } = {
  invalid_api_key: "authentication_error",
  revoked_api_key: "authentication_error",
  invalid_management_token: "authentication_error",
  not_signed_in: "authentication_error",
  wrong_credentials: "authentication_error",
  credit_balance_exhausted: "billing_error",
  account_suspended: "permission_error",
  ip_blocked: "permission_error",
  permission_denied: "permission_error",
  model_not_found: "not_found_error",
  not_found: "not_found_error",
  request_timeout: "timeout_error",
  request_too_large: "request_too_large",
  rate_limit_exceeded: "rate_limit_error",
  too_many_concurrent_requests: "rate_limit_error",
  internal_error: "api_error",
  upstream_error: "api_error",
  server_is_overloaded: "overloaded_error",
  upstream_timeout: "timeout_error",
};

/** By these words clients of the Messages API notice that they have to shorten a conversation. */
const TOO_LONG = "prompt is too long";
/** How vLLM, and OpenAI's servers before, tell that a prompt leaves too little of the context for the answer that is asked for. */
const ANSWER_TOO_LONG = [
  /too large: (?<answer>\d+)\b.*maximum context length is (?<context>\d+) tokens.*\bhas (?<prompt>\d+) input tokens/is,
  /maximum context length is (?<context>\d+) tokens.*requested (?<answer>\d+) output tokens and your prompt contains (?<bound>at least |\d+ characters .*)?(?<prompt>\d+) input tokens/is,
  /maximum context length is (?<context>\d+) tokens.*\((?<prompt>\d+) in (?:the messages|your prompt)[,;] (?<answer>\d+) (?:in|for) the completion/is,
];
/** How much of a message is read: its beginning, because the expressions take the square of its length. */
const READ_LENGTH = 1_000;
/** With fewer tokens left for an answer clients have to shorten the conversation. */
const MIN_ANSWER_TOKENS = 4_000;

/**
 * The field by which a client leaves a conversation with Anthropic, to send only its new messages. Its library sends the whole
 * conversation instead when it reads {@link THREAD_DETAILS}.
 */
export const THREAD_FIELD = "thread";
const THREAD_DETAILS: JsonObject = { error_code: "thread_unsupported_request" };

/** An error as Anthropic's Messages API has it: in a body, with the request's id, and in a stream. */
interface MessagesError {
  readonly type: "error";
  readonly error: {
    readonly type: MessagesErrorType;
    readonly message: string;
    readonly details?: JsonObject;
  };
}

/** A failure in the format of the Messages API. */
export function messagesErrorOf({ code, message, param, messagesDetails }: Failure): MessagesError {
  const details = param === THREAD_FIELD ? THREAD_DETAILS : messagesDetails;
  return {
    type: "error",
    error: {
      type: TYPES[code] ?? "invalid_request_error",
      message: messageFor(code, message),
      ...(details === null ? {} : { details }),
    },
  };
}

/** Claude Code asks for a shorter answer, or shortens the conversation, when it reads Anthropic's words. */
function messageFor(code: ErrorCode, message: string): string {
  const beginning = message.slice(0, READ_LENGTH);
  const groups = ANSWER_TOO_LONG.map((words) => words.exec(beginning)?.groups).find(
    (found) => found !== undefined,
  );
  if (groups !== undefined) {
    const { answer, context, bound } = groups;
    // vLLM stops counting a prompt where it no longer fits, so its count is a lower bound: an answer shortened by it would be refused again and
    // again. With this minimum the client asks for an answer of half the length, and finds a length that fits after a few requests.
    const minPrompt = bound === undefined ? 0 : Number(context) - Math.floor(Number(answer) / 2);
    const prompt = Math.max(Number(groups.prompt), minPrompt);
    if (Number(context) - prompt >= MIN_ANSWER_TOKENS) {
      return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${answer} > ${context}, decrease input length or \`max_tokens\` and try again`;
    }
  }
  const isTooLong = code === "context_length_exceeded" || groups !== undefined;
  return isTooLong && !beginning.toLowerCase().includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
}

/** The status of a failure in the Messages API: that of the table of error codes, except for an overloaded server. */
export function messagesStatusOf({ code, status }: Failure): number {
  return code === "server_is_overloaded" ? OVERLOADED_STATUS : status;
}
