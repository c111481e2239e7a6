import type { CreateEmbeddingResponse, EmbeddingCreateParams } from "../contract/embeddings.ts";
import type { APIPromise } from "../core/api-promise.ts";
import { bodyOf } from "../core/body.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

/** Embeddings. */
export class Embeddings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Embeds texts.
   *
   * @example
   * ```ts
   * const { data } = await client.embeddings.create({ model: "sandbox/embedding", input: ["one", "two"] });
   * console.log(data[0]?.embedding.length);
   * ```
   */
  create(params: EmbeddingCreateParams, options?: RequestOptions): APIPromise<CreateEmbeddingResponse> {
    const body = bodyOf("embeddings.create", '{ model: "…", input: "…" }', params);
    return this.#transport.request<CreateEmbeddingResponse>(
      { method: "POST", path: "/embeddings", body },
      options,
    );
  }
}
