import { isJsonObject, type Json } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { ForwardCall, OwnWire, WholeAnswer, WireAnswer } from "../dialect.ts";
import { answerText, postJson } from "../post-json.ts";
import { malformedResponse } from "../refusal.ts";
import type { Transport } from "../transport.ts";
import { forwardedBody } from "./forwarded-body.ts";
import { streamedMessage } from "./messages-stream.ts";
import { readMessagesUsage } from "./usage.ts";

const DEFAULT_BASE_URL = "https://api.anthropic.com/v1";
/** The version of a request that names none. */
const VERSION = "2023-06-01";

/** Anthropic's Messages API, forwarded: requests and answers go through as they are, except for the model's name. */
export function messagesWire(transport: Transport): OwnWire {
  return { wire: "messages", forward: (call) => forward(transport, call) };
}

async function forward(transport: Transport, call: ForwardCall): Promise<WireAnswer> {
  const { request, upstream } = call;
  const { credential } = upstream;
  const baseUrl = upstream.baseUrl === "" ? DEFAULT_BASE_URL : upstream.baseUrl;
  const asked = { ...call, upstream: { ...upstream, baseUrl } };
  const response = await postJson(transport, asked, {
    path: `/messages${request.query ?? ""}`,
    headers: {
      "anthropic-version": VERSION,
      ...request.headers,
      ...(credential === null ? {} : { "x-api-key": credential.reveal() }),
    },
    body: forwardedBody(call),
  });
  if (request.stream) return streamedMessage(call, response.body);
  return wholeMessage(call, await answerText(response));
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
    if (isJsonObject(input)) tally.add(JSON.stringify(input));
  }
  return tally;
}
