import { deserialize, type SuperJSONResult, serialize } from "superjson";
import { APIError } from "./errors.ts";
import type { RequestOptions, Transport } from "./transport.ts";

/** Calls procedures of the management plane: tRPC over HTTP, with superjson for dates and money. */
export class Rpc {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  query<Output>(procedure: string, input?: unknown, options?: RequestOptions): Promise<Output> {
    const query = input === undefined ? {} : { input: JSON.stringify(serialize(input)) };
    return this.#call<Output>({ method: "GET", path: procedure, query }, options);
  }

  mutate<Output>(procedure: string, input: unknown, options?: RequestOptions): Promise<Output> {
    return this.#call<Output>({ method: "POST", path: procedure, body: serialize(input) }, options);
  }

  async #call<Output>(
    target: { method: "GET" | "POST"; path: string; query?: Record<string, string>; body?: unknown },
    options: RequestOptions | undefined,
  ): Promise<Output> {
    const answer = await this.#transport.send(
      { ...target, path: `/trpc/${target.path}`, plane: "management" },
      options,
    );
    const body = await this.#transport.read<{ result?: { data?: SuperJSONResult } }>(answer);
    const data = body.result?.data;
    if (data === undefined) {
      const { status, headers } = answer.wire;
      throw new APIError("The answer is not the service's. Is the base URL right?", {
        status,
        code: null,
        type: null,
        param: null,
        requestId: headers.get("x-request-id"),
        headers,
      });
    }
    // The service is trusted to keep its contract, which a test holds equal to the router's.
    return deserialize<Output>(data);
  }
}
