import { clientTransformer, UnreadableData, writeProcedureData } from "../contract/procedure-data.ts";
import { APIError } from "./errors.ts";
import type { Answer, RequestOptions, Transport } from "./transport.ts";

/** Calls procedures of the management API: tRPC over HTTP, with superjson for dates and money. */
export class Rpc {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  query<Output>(procedure: string, input?: unknown, options?: RequestOptions): Promise<Output> {
    const query = input === undefined ? {} : { input: JSON.stringify(writeProcedureData(input)) };
    return this.#call<Output>({ method: "GET", path: procedure, query }, options);
  }

  mutate<Output>(procedure: string, input: unknown, options?: RequestOptions): Promise<Output> {
    // The service recognizes a repeated call by the key in its input.
    const isIdempotent = typeof input === "object" && input !== null && "idempotencyKey" in input;
    return this.#call<Output>(
      { method: "POST", path: procedure, body: writeProcedureData(input), isIdempotent },
      options,
    );
  }

  async #call<Output>(
    target: {
      method: "GET" | "POST";
      path: string;
      query?: Record<string, string>;
      body?: unknown;
      isIdempotent?: boolean;
    },
    options: RequestOptions | undefined,
  ): Promise<Output> {
    const answer = await this.#transport.send(
      { ...target, path: `/trpc/${target.path}`, plane: "management" },
      options,
    );
    const body = await this.#transport.read<{ result?: { data?: unknown } }>(answer);
    const data = body.result?.data;
    if (data === undefined) throw notTheService(answer);
    try {
      // The typed values are checked. The rest relies on the contract, which a test compares with the router's.
      return clientTransformer.deserialize(data) as Output;
    } catch (cause) {
      if (cause instanceof UnreadableData) throw notTheService(answer);
      throw cause;
    }
  }
}

function notTheService({ wire: { status, headers } }: Answer): APIError {
  return new APIError("The answer is not from the service. Check the base URL.", {
    status,
    code: null,
    type: null,
    param: null,
    requestId: headers.get("x-request-id"),
    headers,
  });
}
