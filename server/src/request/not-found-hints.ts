import { Failure } from "../errors/failure.ts";

/**
 * Operations on paths that lie below a served one, and what to use instead. They come before {@link HINTS}, and before the methods of the
 * operation whose parameter their last segment could be.
 */
const UNSERVED: readonly (readonly [RegExp, string])[] = [
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
];

/** Operations that clients of OpenAI's API may call, and what to use instead. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  ...UNSERVED,
  [/^\/v1\/completions$/, "Call POST /v1/chat/completions, with the prompt as a user's message."],
  [
    /^\/v1\/messages\/batches(\/|$)/,
    "Batches of messages are not served. Send each message to POST /v1/messages.",
  ],
  [
    /^\/v1\/messages\//,
    "This operation is not served. Use POST /v1/messages or POST /v1/messages/count_tokens.",
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
    /^\/v1\/(?:audio|images|videos|moderations|files|uploads|batches|fine_tuning|realtime|evals|containers)(\/|$)/,
    "This operation is not served. Use POST /v1/chat/completions, POST /v1/responses, POST /v1/embeddings, GET /v1/models or GET /v1/audit.",
  ],
  [
    /^\/v1\/v1\/(?:messages|complete)(\/|$)/,
    "The path has /v1 twice. Set the client's base URL without /v1 at its end: Anthropic's clients add it.",
  ],
  [/^\/v1\/v1\//, "The path has /v1 twice. Set the client's base URL so that it ends in /v1 once."],
];

/** Operations of clients whose base URL lacks the `/v1` at its end. */
const WITHOUT_VERSION = /^\/(chat\/completions|completions|embeddings|responses|messages|models)(?:\/|$)/;

/** Whether the path is that of an operation without `/v1`. One of these paths is also a page of the dashboard. */
export function lacksVersion(path: string): boolean {
  return WITHOUT_VERSION.test(path);
}

/** Whether a path is known not to be served by the method, although a parameter of a served path matches it. */
export function isUnserved(method: string, path: string): boolean {
  return method === "POST" && UNSERVED.some(([pattern]) => pattern.test(path));
}

/** `not_found` for a path that is not served, with what to use instead. */
export function notFoundHint(path: string): Failure {
  const operation = WITHOUT_VERSION.exec(path)?.[1];
  if (operation !== undefined) {
    const right = hintFor(`/v1/${operation}`) ?? `Use /v1/${operation}.`;
    // Anthropic's clients add `/v1` themselves.
    if (operation === "messages") return new Failure("not_found", right);
    return new Failure("not_found", `${right} Set the client's base URL so that it ends in /v1.`);
  }
  return new Failure(
    "not_found",
    hintFor(path) ?? "No such path. See the API reference at /v1/openapi.json.",
  );
}

function hintFor(path: string): string | null {
  return HINTS.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}
