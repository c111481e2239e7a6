import type { Model, ModelList } from "../contract/models.ts";
import type { APIPromise } from "../core/api-promise.ts";
import { notFromService } from "../core/error-answers.ts";
import { OstiaryError } from "../core/errors.ts";
import { APIPagePromise, Page } from "../core/pagination.ts";
import { checkedPath } from "../core/path.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

/** The models of the catalog. */
export class Models {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Lists all models. Also checks that the address and the key are valid.
   *
   * @example
   * ```ts
   * for await (const { id, pricing } of client.models.list()) console.log(id, pricing?.output_usd_per_mtok ?? "free");
   * ```
   */
  list(options?: RequestOptions): APIPagePromise<Model> {
    const answer = this.#transport.send({ method: "GET", path: "/models" }, options);
    return new APIPagePromise(answer, async (begun) => {
      const { data, _request_id } = await this.#transport.read<ModelList>(begun);
      if (!Array.isArray(data)) throw notFromService(begun.wire);
      return new Page(data, null, _request_id, () => this.list(options));
    });
  }

  /**
   * Returns one model, by its id or one of its aliases.
   *
   * @example
   * ```ts
   * const { context_tokens } = await client.models.retrieve("sandbox/echo");
   * console.log(context_tokens ?? "unknown");
   * ```
   *
   * @throws {NotFoundError} the catalog has no such model.
   * @throws {OstiaryError} the id is not a path of names: it is empty, or contains `..`, `//` or a backslash.
   */
  retrieve(id: string, options?: RequestOptions): APIPromise<Model> {
    // The path of an empty id is that of the list.
    if (!id) throw new OstiaryError("id must not be empty.");
    const path = checkedPath(`/models/${String(id).split("/").map(encodeURIComponent).join("/")}`);
    return this.#transport.request<Model>({ method: "GET", path }, options);
  }
}
