import type { Upstream } from "../../catalog/catalog.ts";
import { Failure } from "../../errors/failure.ts";
import type { ChatAnswer, ChatCall, Dialect, Usage } from "../../gateway/dialect.ts";
import { isJsonObject, type JsonObject } from "../../gateway/json.ts";
import { TextTally } from "../../gateway/text-tally.ts";
import { addProduced } from "../../gateway/token-estimate.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { TransportError } from "../transport.ts";
import { refusalOf } from "./refusal.ts";
import { readEventData } from "./sse.ts";
import { readUsage } from "./usage.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const DONE = "[DONE]";

/**
 * Upstreams that speak OpenAI's wire format. Only what must change is changed: the model's name, and usage on
 * streams, which we always ask for and hide from a client that did not.
 */
export class OpenAiDialect implements Dialect {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async chat(call: ChatCall): Promise<ChatAnswer> {
    const response = await this.#transport.send({
      method: "POST",
      url: `${call.upstream.baseUrl}/chat/completions`,
      headers: headersFor(call.upstream),
      body: new TextEncoder().encode(JSON.stringify(upstreamBody(call))),
      signal: call.signal,
      timeouts: call.upstream.timeouts,
    });
    if (response.status !== 200) {
      // A redirect or another 2xx is no answer that we could pass on, either.
      throw refusalOf(response.status, response.headers, await readText(response, MAX_ERROR_BYTES));
    }
    return call.stream ? this.#streamed(call, response) : this.#whole(call, response);
  }

  async #whole(call: ChatCall, response: TransportResponse): Promise<ChatAnswer> {
    const body = parse(await readText(response, MAX_ANSWER_BYTES));
    if (body === null || !Array.isArray(body.choices)) throw unintelligible();
    return {
      kind: "whole",
      body: JSON.stringify({ ...body, model: call.publicModel }),
      usage: readUsage(body.usage),
      produced: () => {
        const produced = new TextTally();
        addProduced(body.choices, produced);
        return produced;
      },
    };
  }

  #streamed(call: ChatCall, response: TransportResponse): ChatAnswer {
    let usage: Usage | null = null;
    const produced = new TextTally();
    const events = async function* (): AsyncGenerator<string> {
      let finished = false;
      for await (const data of readEventData(response.body)) {
        if (data === DONE) return;
        const chunk = parse(data);
        if (chunk === null) throw unintelligible();
        if (chunk.error !== undefined && chunk.error !== null) throw refusalOf(500, {}, data);
        usage = readUsage(chunk.usage) ?? usage;
        addProduced(chunk.choices, produced);
        finished ||= hasFinish(chunk);
        const event = eventFor(call, chunk);
        if (event !== null) yield event;
      }
      // Without `[DONE]` the stream is whole only if some choice came to its end.
      if (!finished) throw new TransportError("cut", "the upstream's stream ended without a finish");
    };
    return { kind: "stream", events: events(), usage: () => usage, produced: () => produced };
  }
}

function headersFor(upstream: Upstream): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(upstream.credential === null ? {} : { authorization: `Bearer ${upstream.credential.reveal()}` }),
  };
}

function upstreamBody(call: ChatCall): JsonObject {
  const body = { ...call.body, model: call.upstreamModel };
  if (!call.stream) return body;
  const options = isJsonObject(call.body.stream_options) ? call.body.stream_options : {};
  return { ...body, stream_options: { ...options, include_usage: true } };
}

/** The event that the client gets for a chunk; `null` for one that only told us the usage. */
function eventFor(call: ChatCall, chunk: JsonObject): string | null {
  let told: JsonObject = { ...chunk, model: call.publicModel };
  if (!call.includeUsage && "usage" in chunk) {
    const choices = chunk.choices;
    if (Array.isArray(choices) && choices.length === 0) return null;
    const { usage: _, ...rest } = told;
    told = rest;
  }
  return `data: ${JSON.stringify(told)}\n\n`;
}

function hasFinish(chunk: JsonObject): boolean {
  const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
  return choices.some((choice) => isJsonObject(choice) && typeof choice.finish_reason === "string");
}

function parse(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    // The caller says what an unintelligible answer means.
    return null;
  }
}

async function readText(response: TransportResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw unintelligible();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function unintelligible(): Failure {
  return new Failure(
    "upstream_error",
    "The model's server gave an answer that is not a chat completion. Try again, or choose another model.",
  );
}
