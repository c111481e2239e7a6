import { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import {
  type ForwardCall,
  type OwnWire,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
  type WireAnswer,
} from "../dialect.ts";
import { jsonText } from "../json-text.ts";
import { answerText, type JsonPost, postJson } from "../post-json.ts";
import { malformedResponse } from "../refusal.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { forwardedBody } from "./forwarded-body.ts";
import { streamedMessage } from "./messages-stream.ts";
import { readMessagesUsage } from "./usage.ts";

const DEFAULT_BASE_URL = "https://api.anthropic.com/v1";
/** The version of a request that names none. */
const VERSION = "2023-06-01";
const BETA = "anthropic-beta";

/** Anthropic's Messages API, forwarded: requests and answers go through as they are, except for the model's name. */
export function messagesWire(transport: Transport): OwnWire {
  return { wire: "messages", forward: (call) => forward(transport, call) };
}

async function forward(transport: Transport, call: ForwardCall): Promise<WireAnswer> {
  const { request } = call;
  const post = {
    path: `/messages${request.query ?? ""}`,
    headers: request.headers,
    body: forwardedBody(call),
  };
  const sent = postMessage(transport, call, post);
  const response = await sent.catch((thrown: unknown) => throwForBeta(thrown, request.headers));
  if (request.stream) return streamedMessage(call, response.body);
  return wholeMessage(call, await answerText(response));
}

/** Sends a request of the Messages API, with the operator's credential. @throws as {@link postJson}. */
export function postMessage(
  transport: Transport,
  call: UpstreamCall,
  post: JsonPost,
): Promise<TransportResponse> {
  const { upstream } = call;
  const { credential } = upstream;
  const baseUrl = upstream.baseUrl === "" ? DEFAULT_BASE_URL : upstream.baseUrl;
  const headers = {
    "anthropic-version": VERSION,
    ...post.headers,
    ...(credential === null ? {} : { "x-api-key": credential.reveal() }),
  };
  return postJson(transport, { ...call, upstream: { ...upstream, baseUrl } }, { ...post, headers });
}

/**
 * A client's beta features may be refused with 403, like the operator's credential. They must not count as its fault, which would
 * keep other accounts from the upstream.
 */
function throwForBeta(thrown: unknown, headers: ForwardCall["request"]["headers"]): never {
  if (!(thrown instanceof UpstreamRefused) || thrown.status !== 403 || headers[BETA] === undefined)
    throw thrown;
  const message = `${BETA}: the model's provider refuses the request with these features. Remove the header.`;
  throw new UpstreamRefused(400, new Failure("invalid_request", message, { param: BETA }));
}

function wholeMessage({ publicModel }: ForwardCall, text: string): WholeAnswer {
  const body = JsonBody.parse(text);
  const content = body?.value.content;
  if (body === null || !Array.isArray(content)) throw malformedResponse();
  return {
    kind: "whole",
    body: body.textWith({ model: publicModel }),
    usage: readMessagesUsage(body.value.usage),
    produced: () => producedBy(content),
    ignored: [],
  };
}

function producedBy(content: readonly Json[]): TextTally {
  const tally = new TextTally();
  for (const block of content) {
    if (!isJsonObject(block)) continue;
    const { text, thinking, name, input } = block;
    for (const value of [text, thinking, name]) if (typeof value === "string") tally.add(value);
    if (isJsonObject(input)) tally.add(jsonText(input));
  }
  return tally;
}
