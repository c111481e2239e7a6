import { LAST_CHUNK } from "../../../server/src/conversation/control-events.ts";
import type { ResponseHeaders } from "../../../server/src/errors/response-headers.ts";
import type { BodySink, Exchange } from "../../../server/src/request/exchange.ts";
import type { Outcome, Wish } from "./facts.ts";
import { MODEL } from "./upstream.ts";

const encoder = new TextEncoder();

/** The body of a request: the same in each attempt. */
function bodyOf({ index, maxTokens, isStreamed }: Wish): Uint8Array {
  const messages = [{ role: "user", content: String(index) }];
  return encoder.encode(
    JSON.stringify({
      model: MODEL,
      messages,
      max_tokens: maxTokens,
      ...(isStreamed ? { stream: true } : {}),
    }),
  );
}

/** Who learns how an exchange ended: as its last byte leaves the process. */
export type OnEnded = (outcome: Outcome, requestId: string | null) => void;

/** A client's end of one request, as the request lifecycle sees it. */
export function openExchange(wish: Wish, ended: OnEnded): Exchange {
  const headers: Readonly<Record<string, readonly string[]>> = {
    authorization: [`Bearer ${wish.key.keyString}`],
    "content-type": ["application/json"],
    ...(wish.idempotencyKey === null ? {} : { "idempotency-key": [wish.idempotencyKey] }),
  };
  return {
    method: "POST",
    path: "/v1/chat/completions",
    query: new URLSearchParams(),
    header: (name) => headers[name] ?? [],
    peer: wish.address,
    isClientGone: false,
    onClientGone: () => {},
    receive: (body) => {
      body.add(bodyOf(wish));
      body.end();
    },
    letOthersGoFirst: () => null,
    answerTimeFactor: 1,
    respond: (status, sent, body) => {
      const text = typeof body === "string" ? body : new TextDecoder().decode(body);
      ended(status === 200 ? { kind: "whole", text } : refusalOf(status, text), requestIdIn(sent));
    },
    stream: (_, sent) => sinkFor((outcome) => ended(outcome, requestIdIn(sent))),
    abandon: () => ended({ kind: "broken" }, null),
  };
}

function requestIdIn(sent: readonly ResponseHeaders[]): string | null {
  return sent.find((headers) => "x-request-id" in headers)?.["x-request-id"] ?? null;
}

function sinkFor(ended: (outcome: Outcome) => void): BodySink {
  let text = "";
  return {
    write: (chunk) => {
      text += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      return null;
    },
    end: async () => ended(text.endsWith(LAST_CHUNK) ? { kind: "whole", text } : refusalIn(text)),
    abort: () => ended({ kind: "broken" }),
  };
}

/** A stream that ends with an error tells it in its last event. */
function refusalIn(text: string): Outcome {
  return refusalOf(200, text.slice(text.lastIndexOf("data: ") + "data: ".length));
}

function refusalOf(status: number, body: string): Outcome {
  const { error }: { error: { code: string; message: string } } = JSON.parse(body);
  return { kind: "refused", status, code: error.code, message: error.message };
}
