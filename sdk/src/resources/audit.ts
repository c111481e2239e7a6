import type { AuditEntry, AuditListParams, AuditListResponse } from "../contract/audit.ts";
import { Page, PagePromise } from "../core/pagination.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

/** The account's audit log. */
export class Audit {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Entries, newest first: `for await (const entry of client.audit.list())` goes through all of them, one page in
   * memory at a time. Options apply to each page's request.
   *
   * @throws {BadRequestError} `limit` is out of range, or `cursor` none of the service's.
   */
  list(params: AuditListParams = {}, options?: RequestOptions): PagePromise<AuditEntry> {
    return new PagePromise((resolve, reject) => {
      this.#page(params, options).then(resolve, reject);
    });
  }

  async #page(params: AuditListParams, options: RequestOptions | undefined): Promise<Page<AuditEntry>> {
    const { limit, cursor } = params;
    const { data, has_more, next_cursor, _request_id } = await this.#transport.json<AuditListResponse>(
      { method: "GET", path: "/audit", query: { limit, cursor } },
      options,
    );
    return new Page(data, has_more ? next_cursor : null, _request_id, (next) =>
      this.#page({ ...params, cursor: next }, options),
    );
  }
}
