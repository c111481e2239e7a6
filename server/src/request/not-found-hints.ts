import { Failure } from "../errors/failure.ts";

/** The paths that a hint is for, and what to use instead of them. `saysBaseUrl`: the hint itself says how to set the client's base URL. */
type Hint = readonly [paths: RegExp, hint: string, saysBaseUrl?: "says base URL"];

const GOOGLE_HINT = "Google's API is not served. Use a client for OpenAI's or Anthropic's API.";
const WHAT_IS_SERVED =
  "This operation is not served. Use POST /v1/chat/completions, POST /v1/responses, POST /v1/messages, POST /v1/embeddings, GET /v1/models or GET /v1/audit.";
/** A method of Google's API at the end of a path, whatever is in front of it: the model, a version, or a project of Vertex AI. */
export const GOOGLE_METHOD =
  /:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict)$/;
/** An operation of Ollama's API, with or without `/v1` before it. */
export const OLLAMA_PATH =
  /^(?:\/+v1)?\/+api\/(?:chat|generate|tags|show|version|embed|embeddings|ps|pull|push|create|copy|delete)\/?$/;

/**
 * Operations on paths that lie below a served one, and what to use instead. They come before the operation whose parameter their last
 * segment could be, and before {@link HINTS}.
 */
const UNSERVED: readonly Hint[] = [
  [
    /^\/v1\/responses\/compact$/,
    "Compaction is not served. Send a shorter history, or a summary of it, as `input`.",
  ],
  [
    /^\/v1\/responses\/input_tokens$/,
    "Counting input tokens is not served. The `usage` of an answer has its input tokens.",
  ],
  [
    /^\/v1\/responses\/[^/]+\/cancel$/,
    "Responses in the background are not served, so there is nothing to cancel. Close the connection to end a response.",
  ],
  [
    /^\/v1\/alpha\/search$/,
    "Search is not served. Give the model a function tool that searches, and run it in your application.",
  ],
  // Their last segment could be the id of a model if the client's base URL ends in /v1.
  [GOOGLE_METHOD, GOOGLE_HINT],
  // The path of an operation as a client's base URL.
  [
    /^\/v1\/messages\/(?:v1\/)?messages(?:\/|$)/,
    "The path has /messages twice. Set the client's base URL to the address of the service: Anthropic's clients add /v1/messages.",
    "says base URL",
  ],
  [
    /^\/v1\/(?:chat\/completions|responses|embeddings)\/(?:v1\/)?(?:chat\/completions|responses|embeddings|models)(?:\/|$)/,
    "The path has two operations. Set the client's base URL so that it ends in /v1.",
    "says base URL",
  ],
];

/** The paths of health checks at other services. If they were answered with a page of the dashboard, every node would seem healthy. */
const PROBE =
  /^\/v1\/(?:api\/)?(?:health|healthcheck|health_check|livez|live|ready|ping|status)(?:\/[^/]+)?$/;

/** Operations that clients of OpenAI's API may call, and what to use instead. */
const HINTS: readonly Hint[] = [
  [
    /^\/v1\/chat\/completions\/[^/]/,
    "Chat completions are not stored. Call POST /v1/responses, which stores its answers for GET /v1/responses/{id}.",
  ],
  [/^\/v1\/completions$/, "Call POST /v1/chat/completions, with the prompt as a user's message."],
  [
    /^\/v1\/messages\/batches(\/|$)/,
    "Batches of messages are not served. Send each message to POST /v1/messages.",
  ],
  [
    /^\/v1\/messages\//,
    "This operation is not served. Use POST /v1/messages or POST /v1/messages/count_tokens.",
  ],
  // Anthropic and OpenAI both have these.
  [
    /^\/v1\/(?:agents|vaults)(\/|$)/,
    "This operation is not served. Keep the conversation in your application and call POST /v1/messages or POST /v1/responses.",
  ],
  [
    /^\/v1\/(?:sessions|environments|deployments|deployment_runs|dreams|memory_stores|tunnels|user_profiles)(\/|$)/,
    "This operation is not served. Keep the conversation in your application and call POST /v1/messages.",
  ],
  [
    /^\/v1\/complete$/,
    "Text completions are not served. Call POST /v1/messages, with the prompt as a user's message.",
  ],
  [
    /^\/v1\/(?:engines|assistants|threads|vector_stores|conversations)(\/|$)/,
    "This operation is not served. Keep the conversation in your application and call POST /v1/responses or POST /v1/chat/completions.",
  ],
  [
    /^\/v1\/(?:organizations?|compliance|dashboard\/billing)(\/|$)/,
    "This operation is not served. Use GET /v1/usage, GET /v1/credits or GET /v1/audit.",
  ],
  [
    /^\/v1\/(?:audio|images|videos|moderations|files|uploads|batches|fine_tuning|realtime|evals|containers|skills|chatkit|webhooks)(\/|$)/,
    WHAT_IS_SERVED,
  ],
  [/^\/v1\/(?:live\/sessions|decisions|content_provenance_checks)(\/|$)/, WHAT_IS_SERVED],
  [
    /^\/v1\/v1\/(?:messages|complete)(\/|$)/,
    "The path has /v1 twice. Set the client's base URL without /v1 at its end: Anthropic's clients add it.",
    "says base URL",
  ],
  [
    /^\/v1\/openai\/deployments\//,
    "Azure's paths are not served. Use a client for OpenAI itself, which calls POST /v1/chat/completions.",
  ],
  [/^\/v1\/v1(?:alpha|beta)\d*\//, GOOGLE_HINT],
  [OLLAMA_PATH, "Ollama's API is not served. Use a client for OpenAI's or Anthropic's API."],
  [PROBE, "Use GET /readyz or GET /healthz."],
  [
    /^\/v1\/v1\//,
    "The path has /v1 twice. Set the client's base URL so that it ends in /v1 once.",
    "says base URL",
  ],
];

/** The paths whose clients add `/v1` themselves: Anthropic's. `@ai-sdk/anthropic` does not. */
const ADDED_BY_CLIENT = /\/v1\/+messages(?:\/|$)/i;

/** The version in a path, with up to two segments that other gateways have in front of it. */
const VERSION = /^(?:\/[^/]+){0,2}?\/v1(?=\/|$)/i;

/**
 * A path as it would be below `/v1`: with that once, in lower case, with no empty segment, and without what other gateways have in
 * front, such as `/api` or `/openai`.
 */
export function withVersion(path: string): string {
  const tidy = path.replace(/\/{2,}/g, "/");
  return `/v1${tidy.replace(VERSION, "")}`;
}

/** Whether a path has a version, with or without something in front. */
export function hasVersion(path: string): boolean {
  return VERSION.test(path);
}

/** Whether a path is known not to be served by the method, although a parameter of a served path matches it. */
export function isUnserved(method: string, path: string): boolean {
  return method === "POST" && UNSERVED.some(([pattern]) => pattern.test(path));
}

/** What to use instead of a path that is not served; `null` if nothing is known. */
export function hintFor(path: string): string | null {
  return (hintIn(UNSERVED, path) ?? hintIn(HINTS, path))?.[1] ?? null;
}

/**
 * `not_found` for a path that is not served, with what to use instead.
 *
 * @param servedAt The path of the operation that is served at a path; `null` if there is none.
 */
export function notFoundHint(path: string, servedAt: (path: string) => string | null): Failure {
  const right = withVersion(path);
  const served = right === path ? null : servedAt(right);
  const known = hintIn(UNSERVED, right) ?? (served === null ? hintIn(HINTS, right) : null);
  const hint = known?.[1] ?? (served === null ? null : `Use ${served}.`);
  if (hint === null) {
    return new Failure("not_found", "No such path. See the API reference at /v1/openapi.json.");
  }
  const isEnough = right === path || known?.[2] !== undefined;
  if (isEnough || ADDED_BY_CLIENT.test(path) || PROBE.test(right)) return new Failure("not_found", hint);
  return new Failure(
    "not_found",
    `${hint} Set the client's base URL to the address of the service followed by /v1.`,
  );
}

function hintIn(hints: readonly Hint[], path: string): Hint | null {
  return hints.find(([paths]) => paths.test(path)) ?? null;
}
