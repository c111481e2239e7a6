import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type RequestSignal, toAbortSignal } from "../../errors/request-signal.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../transport.ts";
import { answersTo, lastUserText } from "./answer.ts";
import { type ChatRequest, readChatRequest } from "./chat-request.ts";
import { type CompletionOptions, chunksOfCompletion, wholeCompletion } from "./completion.ts";
import { directiveOf } from "./directive.ts";
import { embeddingsFor } from "./embeddings.ts";
import { SandboxRefusal } from "./refusal.ts";
import { countTokens } from "./text.ts";

interface SandboxOptions {
  readonly now: () => Date;
}

/**
 * An upstream within the process: it answers in OpenAI's wire format by rules, the same request always in the same way. It lets
 * developers test everything between client and upstream without a model, a network or costs.
 */
export function createSandboxTransport(options: SandboxOptions): Transport {
  return {
    send: async (request) => {
      try {
        return await answered(request, options);
      } catch (error) {
        if (error instanceof SandboxRefusal) return refusalResponse(error);
        throw error;
      }
    },
    close: async () => {},
  };
}

async function answered(request: TransportRequest, { now }: SandboxOptions): Promise<TransportResponse> {
  if (request.body !== null && request.url.endsWith("/embeddings")) {
    return jsonResponse(200, await embeddingsFor(JSON.parse(new TextDecoder().decode(request.body))));
  }
  if (!request.url.endsWith("/chat/completions") || request.body === null) {
    throw new SandboxRefusal(404, "not_found", "The sandbox answers chat completions and embeddings.", null);
  }
  const chat = readChatRequest(JSON.parse(new TextDecoder().decode(request.body)));
  const directive = directiveOf(lastUserText(chat.messages));
  if (directive?.kind === "delay") await delay(directive.delayMs, request);
  if (directive?.kind === "error") {
    const message = `The sandbox simulates status ${directive.status}, as the message requested.`;
    throw new SandboxRefusal(directive.status, "sandbox", message, null);
  }
  if (request.signal.aborted) throw new TransportError("aborted", "the request was aborted");
  const digest = createHash("sha256").update(request.body).digest("hex");
  const options = {
    head: {
      id: `chatcmpl-${digest.slice(0, 29)}`,
      created: Math.floor(now().getTime() / 1000),
      model: chat.model,
    },
    promptTokens: chat.messages.reduce(
      (sum, message) => sum + countTokens(message.role) + countTokens(message.text),
      0,
    ),
    hasUsage: directive?.kind !== "no-usage" && (!chat.stream || chat.includeUsage),
    isCut: directive?.kind === "cut",
  };
  return chat.stream ? streamed(chat, options, request.signal) : whole(chat, options);
}

function whole(chat: ChatRequest, options: CompletionOptions): TransportResponse {
  if (options.isCut) throw new TransportError("cut", "the sandbox was told to break off");
  return jsonResponse(200, wholeCompletion(answersTo(chat), options));
}

function streamed(chat: ChatRequest, options: CompletionOptions, signal: RequestSignal): TransportResponse {
  const chunks = chunksOfCompletion(answersTo(chat), options);
  const encoder = new TextEncoder();
  const body = async function* () {
    for await (const chunk of chunks) {
      if (signal.aborted) throw new TransportError("aborted", "the request was aborted");
      yield encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    yield encoder.encode("data: [DONE]\n\n");
  };
  return { status: 200, headers: { "content-type": "text/event-stream" }, body: body() };
}

async function delay(delayMs: number, request: TransportRequest): Promise<void> {
  const { firstByteMs } = request.timeouts;
  try {
    await setTimeout(Math.min(delayMs, firstByteMs), undefined, { signal: toAbortSignal(request.signal) });
  } catch (cause) {
    throw new TransportError("aborted", "the request was aborted", cause);
  }
  if (delayMs > firstByteMs) throw new TransportError("timeout", "the upstream took too long");
}

function refusalResponse({ status, code, message, param }: SandboxRefusal): TransportResponse {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return jsonResponse(status, { error: { message, type, param, code } });
}

function jsonResponse(status: number, value: unknown): TransportResponse {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const body = async function* () {
    yield bytes;
  };
  return { status, headers: { "content-type": "application/json" }, body: body() };
}
