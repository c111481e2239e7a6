import { Failure } from "../errors/failure.ts";

/** Operations that clients of OpenAI's API may look for here, and what there is in their place. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [
    /^\/v1\/responses(\/|$)/,
    "The Responses API is not served here. Call POST /v1/chat/completions: with openai, `client.chat.completions.create`; with @ai-sdk/openai, `openai.chat(model)`; with LangChain, `useResponsesApi: false`.",
  ],
  [/^\/v1\/completions$/, "Call POST /v1/chat/completions, with the prompt as a user's message."],
  [/^\/v1\/messages(\/|$)/, "Call POST /v1/chat/completions: every model of the catalog answers there."],
  [
    /^\/v1\/(?:engines|assistants|threads|vector_stores|conversations)(\/|$)/,
    "There is no such thing here. Keep the conversation in your application and call POST /v1/chat/completions.",
  ],
  [
    /^\/v1\/(?:audio|images|videos|moderations|files|uploads|batches|fine_tuning|realtime|evals|containers)(\/|$)/,
    "This operation is not served here. There are POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models and GET /v1/audit.",
  ],
  [/^\/v1\/v1\//, "The path has /v1 twice: check the client's base URL, which ends in one."],
];

/** Operations of clients whose base URL lacks the `/v1` at its end. */
const WITHOUT_VERSION = /^\/(chat\/completions|completions|embeddings|responses|messages|models)(?:\/|$)/;

/** Whether a client with a wrong base URL asks for it. The dashboard has a page at one of these paths, for who asks for pages. */
export function lacksVersion(path: string): boolean {
  return WITHOUT_VERSION.test(path);
}

/** What to say of a path that there is nothing at. */
export function nothingAt(path: string): Failure {
  const operation = WITHOUT_VERSION.exec(path)?.[1];
  if (operation !== undefined) {
    const elsewhere = hintFor(`/v1/${operation}`);
    const right = elsewhere ?? `Use /v1/${operation}.`;
    return new Failure("not_found", `${right} Set the client's base URL so that it ends in /v1.`);
  }
  return new Failure(
    "not_found",
    hintFor(path) ?? "There is nothing at this path. Check it against the API reference, /v1/openapi.json.",
  );
}

function hintFor(path: string): string | null {
  return ELSEWHERE.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}
