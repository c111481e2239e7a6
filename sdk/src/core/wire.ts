/**
 * Options of the runtime's `fetch` that it has beyond the standard ones, such as `dispatcher` (Node), `client` (Deno) and `proxy` (Bun),
 * and standard ones such as `cache`. The method, headers, body, signal and redirects are set by the client.
 */
export type FetchOptions = Omit<
  NonNullable<Parameters<typeof fetch>[1]>,
  "method" | "headers" | "body" | "signal" | "redirect"
> & { readonly [option: string]: unknown };

/** A request with its final headers and body, the same for every attempt. */
export interface WireRequest {
  readonly url: string;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** `null`: any HTTP client may send the request. Otherwise only `fetch` can. */
  readonly fetchOptions: FetchOptions | null;
}

/** An answer that has begun, from any HTTP client. Its body is read once, in one of the ways below. */
export interface WireAnswer {
  readonly status: number;
  /** 200 to 299. */
  readonly ok: boolean;
  /** A header's value. `name` in lower case. */
  header(name: string): string | null;
  readonly headers: Headers;
  /** `null` without a body. */
  readonly body: Response["body"];
  /** The whole body. A body of more than `maxBytes` is discarded; what was read of it may be returned. */
  text(maxBytes?: number): Promise<string>;
  /** Discards a body that is not needed. */
  discard(): void;
  /** Converts the answer to a standard response. */
  toResponse(): Response;
}

/** Sends a request and resolves when its answer begins. Rejects when no answer comes or `signal` is aborted. */
export type Send = (request: WireRequest, signal: AbortSignal) => Promise<WireAnswer>;

/** Sends a request with a `fetch`. @throws {TypeError} its answer is no response, which a `fetch` of the caller's may return. */
export async function sendByFetch(
  fetch: typeof globalThis.fetch,
  { url, fetchOptions, ...init }: WireRequest,
  signal: AbortSignal,
): Promise<WireAnswer> {
  // A redirect could send prompts to another host or turn a POST into a GET. Some workers do not support "error".
  const response = await fetch(url, { ...fetchOptions, ...init, redirect: "manual", signal });
  const { status, ok, headers } = response;
  if (!headers?.get) throw new TypeError("not a Response");
  return {
    status,
    ok,
    headers,
    header: (name) => headers.get(name),
    get body() {
      return response.body;
    },
    text: (maxBytes) => (maxBytes === undefined ? response : shortened(response, maxBytes)).text(),
    discard: () => {
      // The cancellation is not awaited, because a `fetch` that clones answers may hold the body open.
      response.body?.cancel().catch(() => {});
    },
    toResponse: () => response,
  };
}

/** A response whose body ends before it is longer than this. One without a stream of the web stays as it is. */
function shortened(response: Response, maxBytes: number): Response {
  if (!response.body?.pipeThrough) return response;
  let leftBytes = maxBytes;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      leftBytes -= chunk.length;
      if (leftBytes < 0) controller.terminate();
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(limit));
}
