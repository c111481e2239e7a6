import { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json, parseJsonObject } from "../../json/json.ts";
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
import { answerText, asRefused, type JsonPost, postJson, type RefusedResponse } from "../post-json.ts";
import { malformedResponse } from "../refusal.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { forwardedBody } from "./forwarded-body.ts";
import { streamedMessage } from "./messages-stream.ts";
import { readMessagesUsage } from "./usage.ts";

const DEFAULT_BASE_URL = "https://api.anthropic.com/v1";
/** The version of a request that names none. */
const VERSION = "2023-06-01";
const BETA = "anthropic-beta";
const MAX_MESSAGE_LENGTH = 1_000;

/** Anthropic's Messages API, forwarded: requests and answers go through as they are, except for the model's name. */
export function messagesWire(transport: Transport): OwnWire {
  return { wire: "messages", forward: (call) => forward(transport, call) };
}

async function forward(transport: Transport, call: ForwardCall): Promise<WireAnswer> {
  const { request } = call;
  const response = await postMessage(transport, call, {
    path: `/messages${request.query ?? ""}`,
    headers: request.headers,
    body: forwardedBody(call),
    refused: (refused) => refusedForward(refused, call),
  });
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

function refusedForward(refused: RefusedResponse, { request, publicModel }: ForwardCall): UpstreamRefused {
  if (refused.status === 403 && request.headers[BETA] !== undefined) return refusedBeta();
  return refused.status === 404 ? notFound(refused, publicModel) : asRefused(refused);
}

/**
 * A client's beta features may be refused with 403, like the operator's credential. They must not count as its fault, which would
 * keep other accounts from the upstream.
 */
function refusedBeta(): UpstreamRefused {
  const message = `${BETA}: the model's provider refuses the request with these features. Remove the header.`;
  return new UpstreamRefused(400, new Failure("invalid_request", message, { param: BETA }));
}

/**
 * The provider lacks the model, or a file or container that the request names. Clients try again after an `api_error`, and let their
 * user choose another model after a `not_found_error`. Another answer with 404 comes from a server that is not the provider's.
 */
function notFound(refused: RefusedResponse, publicModel: string): UpstreamRefused {
  const { error } = parseJsonObject(refused.text) ?? {};
  if (!isJsonObject(error) || error.type !== "not_found_error") return asRefused(refused);
  const { message } = error;
  const isModel = typeof message !== "string" || /^model\b/i.test(message);
  const failure = isModel
    ? new Failure("model_not_found", `The provider of ${publicModel} does not have it. Choose another model.`)
    : new Failure("not_found", message.slice(0, MAX_MESSAGE_LENGTH));
  return new UpstreamRefused(refused.status, failure);
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
