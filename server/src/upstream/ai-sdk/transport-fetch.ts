import type { TransportTimeouts } from "../../catalog/catalog.ts";
import { cannot } from "../../conversation/conversation.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import type { Transport } from "../transport.ts";

/** Statuses that a `Response` may not have a body with. */
const WITHOUT_BODY = new Set([204, 205, 304]);
/** Anthropic's minimum for a thinking budget. */
const MIN_THINKING_TOKENS = 1_024;
const THINKING_SHARE = 0.8;

export interface FetchOptions {
  readonly transport: Transport;
  readonly timeouts: TransportTimeouts;
  /** What must not be exceeded, where the package might; `null`: nothing is to be looked at. */
  readonly paid: PaidTokens | null;
}

export interface PaidTokens {
  readonly maxTokens: number;
  /** Of the client, for errors. */
  readonly names: { readonly reasoning: string; readonly maxTokens: string };
}

/** A `fetch` for one call of a package that brings its own wire format, and whether it has sent anything. */
export class CallFetch {
  readonly #options: FetchOptions;
  #isSent = false;

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  get isSent(): boolean {
    return this.#isSent;
  }

  /** Sends the request over a transport, with the same connections, timeouts and rules as every other request. */
  readonly fetch: typeof fetch = async (input, init) => {
    const { transport, timeouts, paid } = this.#options;
    const body = typeof init?.body === "string" ? withinBudget(init.body, paid) : null;
    const request = {
      method: init?.method === "GET" ? "GET" : "POST",
      url: input instanceof Request ? input.url : String(input),
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: body === null ? null : new TextEncoder().encode(body),
      signal: init?.signal ?? new AbortController().signal,
      timeouts,
    } as const;
    this.#isSent = true;
    const response = await transport.send(request);
    const isEmpty = WITHOUT_BODY.has(response.status);
    return new Response(isEmpty ? null : streamOf(response.body), {
      status: response.status,
      headers: response.headers,
    });
  };
}

/**
 * Limits the tokens of a request. A package may ask for more than its caller did: Anthropic's adds the thinking budget to the
 * maximum of the answer. The upstream must not be asked for more than is paid for.
 */
function withinBudget(text: string, paid: PaidTokens | null): string {
  if (paid === null) return text;
  const { maxTokens } = paid;
  const body: unknown = JSON.parse(text);
  if (!isJsonObject(body) || typeof body.max_tokens !== "number" || body.max_tokens <= maxTokens) return text;
  return JSON.stringify({ ...body, max_tokens: maxTokens, ...thinkingWithin(body.thinking, paid) });
}

function thinkingWithin(thinking: unknown, { maxTokens, names }: PaidTokens): JsonObject {
  if (!isJsonObject(thinking) || typeof thinking.budget_tokens !== "number") return {};
  if (maxTokens <= MIN_THINKING_TOKENS) {
    const reason = `needs ${names.maxTokens}, and credit, of more than ${MIN_THINKING_TOKENS} tokens`;
    throw cannot(names.reasoning, reason);
  }
  const budget = Math.max(MIN_THINKING_TOKENS, Math.floor(maxTokens * THINKING_SHARE));
  return { thinking: { ...thinking, budget_tokens: Math.min(thinking.budget_tokens, budget) } };
}

function streamOf(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await iterator.return?.()),
    },
    // Nothing is read ahead of the reader.
    { highWaterMark: 0 },
  );
}
