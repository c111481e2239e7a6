import type { AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import {
  type Idempotency,
  idempotentRequest,
  type KeptAnswer,
  MAX_ANSWER_CHARACTERS,
} from "../idempotency/idempotency.ts";
import {
  type EndpointRequest,
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  JSON_HEADERS,
  NO_FACTS,
  type Reply,
} from "./endpoint.ts";

/** Visible ASCII, as in the Idempotency-Key header's draft (draft-ietf-httpapi-idempotency-key-header). */
const IDEMPOTENCY_KEY = /^[\x21-\x7e][\x20-\x7e]{0,253}[\x21-\x7e]$|^[\x21-\x7e]$/;
export const LAST_EVENT = "data: [DONE]\n\n";

/** @throws {Failure} `invalid_request` when the header is there and no key. */
export function readIdempotencyKey(values: readonly string[]): string | null {
  const [value] = values;
  if (value === undefined) return null;
  if (values.length === 1 && IDEMPOTENCY_KEY.test(value)) return value;
  throw new Failure(
    "invalid_request",
    "Idempotency-Key: must come once, with 1 to 255 visible ASCII characters",
    { param: "Idempotency-Key" },
  );
}

export interface IdempotentParts {
  readonly idempotency: Idempotency;
  readonly accountId: AccountId;
  /** As audit entries name it. */
  readonly endpoint: string;
  readonly body: Uint8Array;
}

/**
 * Executes a request once: when it is sent again with its idempotency key it gets the same answer, and is not charged. Such
 * a request runs to completion even if its client disconnects, so that the client can come back for the answer.
 *
 * @throws {Failure} as {@link Idempotency.begin}, and as `answer`.
 */
export function answerOnce(
  request: EndpointRequest,
  parts: IdempotentParts,
  answer: () => Promise<Reply>,
): Promise<Reply> {
  const key = readIdempotencyKey(request.exchange.header("idempotency-key"));
  return key === null ? answer() : answerKeyed(request, key, parts, answer);
}

async function answerKeyed(
  request: EndpointRequest,
  key: string,
  { idempotency, accountId, endpoint, body }: IdempotentParts,
  answer: () => Promise<Reply>,
): Promise<Reply> {
  const begun = await idempotency.begin(idempotentRequest(accountId, endpoint, key, body));
  if (!("release" in begun)) return repeated(begun);
  request.runToCompletion(begun);
  const reply = await answer();
  switch (reply.kind) {
    case "failed":
      return reply;
    case "whole": {
      const { facts, body: text } = reply;
      return { ...reply, facts: { ...facts, kept: { isStream: false, model: facts.model ?? "", text } } };
    }
    case "stream":
      return collected(reply);
  }
}

/** The same stream, whose facts have its text when it has come to its end. */
function collected(reply: Extract<Reply, { kind: "stream" }>): Reply {
  const parts: string[] = [];
  let length = 0;
  let isWhole = false;
  return {
    ...reply,
    chunks: (async function* () {
      for await (const chunk of reply.chunks) {
        length += chunk.length;
        if (length <= MAX_ANSWER_CHARACTERS) parts.push(textOf(chunk));
        else parts.length = 0;
        yield chunk;
      }
      isWhole = true;
    })(),
    facts: async () => {
      const facts = await reply.facts();
      if (!isWhole) return facts;
      const isKept = length <= MAX_ANSWER_CHARACTERS;
      const kept = isKept ? { isStream: true, model: facts.model ?? "", text: parts.join("") } : null;
      return { ...facts, kept };
    },
  };
}

function textOf(chunk: string | Uint8Array): string {
  return typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
}

function repeated({ isStream, model, text }: KeptAnswer): Reply {
  const usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  const facts: EntryFacts = { ...NO_FACTS, model, usage };
  const mark = { "idempotency-replayed": "true" };
  if (!isStream) return { kind: "whole", headers: { ...JSON_HEADERS, ...mark }, body: text, facts };
  return {
    kind: "stream",
    headers: { ...EVENT_STREAM_HEADERS, ...mark },
    chunks: (async function* () {
      yield text;
    })(),
    lastChunk: LAST_EVENT,
    atFailure: "event",
    facts: async () => facts,
    failureOf: (thrown) =>
      thrown instanceof Failure ? thrown : new Failure("internal_error", "", { cause: thrown }),
  };
}
