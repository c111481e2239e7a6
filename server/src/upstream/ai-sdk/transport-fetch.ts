import type { Transport, TransportTimeouts } from "../transport.ts";

/** Statuses that a `Response` may not have a body with. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** A `fetch` over a transport: packages that bring their own wire format use the same connections, time limits and rules. */
export function fetchOver(transport: Transport, timeouts: TransportTimeouts): typeof fetch {
  return async (input, init) => {
    const { signal } = init ?? {};
    const response = await transport.send({
      method: init?.method === "GET" ? "GET" : "POST",
      url: input instanceof Request ? input.url : String(input),
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: typeof init?.body === "string" ? new TextEncoder().encode(init.body) : null,
      signal: signal ?? new AbortController().signal,
      timeouts,
    });
    const body = WITHOUT_BODY.has(response.status) ? null : streamOf(response.body);
    return new Response(body, { status: response.status, headers: response.headers });
  };
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
    // Nothing is read ahead of who reads it.
    { highWaterMark: 0 },
  );
}
