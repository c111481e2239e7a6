import type { AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import {
  type Claim,
  type Idempotency,
  idempotentRequest,
  type KeptAnswer,
  MOST_ANSWER_CHARACTERS,
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
 * Answers a request once: who repeats it with its idempotency key gets the same answer, and is not charged for it. Such a
 * request is seen through even when its client leaves, so that there is something to come back for.
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
  if (!("finish" in begun)) return repeated(begun);
  request.seeThrough(begun.id);
  try {
    const reply = await answer();
    // First the one that pays for it: what is kept is told again for nothing.
    await request.written();
    return await kept(reply, begun);
  } catch (thrown) {
    await begun.release();
    throw thrown;
  }
}

async function kept(reply: Reply, claim: Claim): Promise<Reply> {
  switch (reply.kind) {
    case "failed":
      await claim.release();
      return reply;
    case "whole":
      await claim.finish(keptAnswer(false, reply.facts.model, reply.body));
      return reply;
    case "stream":
      return { ...reply, chunks: collected(reply, claim) };
  }
}

async function* collected(
  reply: Extract<Reply, { kind: "stream" }>,
  claim: Claim,
): AsyncGenerator<string | Uint8Array> {
  const parts: string[] = [];
  let length = 0;
  let isWhole = false;
  try {
    for await (const chunk of reply.chunks) {
      length += chunk.length;
      if (length <= MOST_ANSWER_CHARACTERS) parts.push(textOf(chunk));
      else parts.length = 0;
      yield chunk;
    }
    isWhole = true;
    // Before the request is recorded and charged: of a process that dies in between, nobody is charged twice.
    const { model } = await reply.facts();
    await claim.finish(length <= MOST_ANSWER_CHARACTERS ? keptAnswer(true, model, parts.join("")) : null);
  } finally {
    if (!isWhole) await claim.release();
  }
}

function keptAnswer(isStream: boolean, model: string | null, text: string): KeptAnswer | null {
  return text.length <= MOST_ANSWER_CHARACTERS ? { isStream, model: model ?? "", text } : null;
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
