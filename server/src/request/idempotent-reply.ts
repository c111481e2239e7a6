import type { AccountId } from "../contract/account.ts";
import type { KeptAnswer } from "../contract/kept-answer.ts";
import { HEARTBEAT } from "../conversation/control-events.ts";
import { Failure } from "../errors/failure.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { idempotentRequest, MAX_ANSWER_CHARACTERS } from "../idempotency/idempotency.ts";
import {
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  FREE_FACTS,
  JSON_HEADERS,
  type Reply,
  type StreamReply,
  type WholeReply,
} from "../operations/reply.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

/** Visible ASCII, as in the Idempotency-Key header's draft (draft-ietf-httpapi-idempotency-key-header). */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const REPLAYED_HEADERS: ResponseHeaders = { "idempotency-replayed": "true" };

/** @throws {Failure} `invalid_request` when the header is not a valid key. */
export function readIdempotencyKey(values: readonly string[]): string | null {
  const [value] = values;
  if (value === undefined) return null;
  if (values.length === 1 && IDEMPOTENCY_KEY.test(value)) return value;
  throw new Failure(
    "invalid_request",
    "Idempotency-Key: must come once, with 1 to 255 visible ASCII characters and no space",
    { param: "Idempotency-Key" },
  );
}

/**
 * Claims a request with an idempotency key for this node. A retry with the same key gets the same answer and is not charged. The request runs to
 * completion even if its client disconnects, so that the client can retry to get the answer.
 *
 * @returns the answer, if it was answered before; `null`: the request is to be answered now.
 * @throws {Failure} as {@link Idempotency.claim}.
 */
export async function claimOrReplay(
  request: RequestContext,
  {
    accountId,
    key,
    body,
  }: { readonly accountId: AccountId; readonly key: string; readonly body: Uint8Array },
  { idempotency }: Services,
): Promise<Reply | null> {
  const result = await idempotency.claim(idempotentRequest(accountId, request.endpoint ?? "", key, body));
  if (result.kind === "answered") return replayed(result.answer);
  request.claim = result.claim;
  return null;
}

/** Adds the answer to the facts of a claimed request's reply, so that it is stored for the idempotency key. */
export function keepAnswer({ claim }: RequestContext, reply: Reply): Reply {
  if (claim === null) return reply;
  if (reply.kind === "stream") return collecting(reply);
  const { facts, body: text } = reply;
  return { ...reply, facts: { ...facts, kept: { isStream: false, model: facts.model ?? "", text } } };
}

/** Collects the text of a stream while it is sent, and adds it to the stream's facts. */
function collecting(reply: StreamReply): Reply {
  const parts: string[] = [];
  let length = 0;
  let isWhole = false;
  const { controlEvents } = reply;
  return {
    ...reply,
    // Heartbeats are not stored, and events that have numbers would leave gaps.
    controlEvents: controlEvents && {
      heartbeat: () => HEARTBEAT,
      failure: (failure) => controlEvents.failure(failure),
    },
    chunks: (async function* () {
      for await (const chunk of reply.chunks) {
        yield chunk;
        // A stream that begins before its upstream has answered begins with a heartbeat.
        if (chunk === HEARTBEAT) continue;
        length += chunk.length;
        if (length <= MAX_ANSWER_CHARACTERS) parts.push(textOf(chunk));
        else parts.length = 0;
      }
      isWhole = true;
    })(),
    facts: async () => {
      const facts = await reply.facts();
      if (!isWhole) return facts;
      if (length > MAX_ANSWER_CHARACTERS) return { ...facts, kept: null };
      const last = lastOf(reply);
      if (last === null) return facts;
      const text = parts.join("") + last;
      return { ...facts, kept: { isStream: true, model: facts.model ?? "", text } };
    },
  };
}

/** What completes a stream; `null` if it can't be written. Then the stream is not kept, and fails when its end is to be sent. */
function lastOf(reply: StreamReply): string | null {
  try {
    return reply.last();
  } catch {
    return null;
  }
}

function textOf(chunk: string | Uint8Array): string {
  return typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
}

/**
 * The stored answer of an earlier request. It costs nothing. A stream is sent in one piece, too, because all of it is there: it ends with the event
 * that tells the client that it is complete, so the request must be recorded before it is sent.
 */
function replayed({ isStream, model, text }: KeptAnswer): WholeReply {
  const facts: EntryFacts = { ...FREE_FACTS, model };
  const headers = { ...(isStream ? EVENT_STREAM_HEADERS : JSON_HEADERS), ...REPLAYED_HEADERS };
  return { kind: "whole", headers, body: text, facts };
}
