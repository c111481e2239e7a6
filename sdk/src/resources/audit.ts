import { AuditExport, type ExportOptions } from "../audit/export.ts";
import type { AuditEntry, AuditExportParams, AuditListParams, AuditListResponse } from "../contract/audit.ts";
import type { AuditVerification, AuditVerifyParams } from "../contract/management.ts";
import { given } from "../core/given.ts";
import { Page, PagePromise } from "../core/pagination.ts";
import type { Rpc } from "../core/rpc.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

/** The account's audit log. */
export class Audit {
  readonly #transport: Transport;
  readonly #rpc: Rpc;

  constructor(transport: Transport, rpc: Rpc) {
    this.#transport = transport;
    this.#rpc = rpc;
  }

  /**
   * Entries, newest first: `for await (const entry of client.audit.list())` goes through all of them, one page in
   * memory at a time. Options apply to each page's request.
   *
   * @throws {BadRequestError} a filter makes no sense, `limit` is out of range, or `cursor` none of the service's.
   */
  list(params: AuditListParams = {}, options?: RequestOptions): PagePromise<AuditEntry> {
    return new PagePromise((resolve, reject) => {
      this.#page(params, options).then(resolve, reject);
    });
  }

  /**
   * All matching entries, oldest first, as lines. Cut off, it goes on by itself.
   *
   * @example
   * ```ts
   * const lines = client.audit.export({ format: "csv", from: "2026-01-01T00:00:00Z" });
   * for await (const line of lines) file.write(`${line}\n`);
   * ```
   */
  export(params: AuditExportParams = {}, options: ExportOptions = {}): AuditExport {
    return new AuditExport(this.#transport, params, options);
  }

  /** Whether entries were changed after they were recorded: a stretch a call, `next` is where to go on. */
  verify(params: AuditVerifyParams = {}, options?: RequestOptions): Promise<AuditVerification> {
    return this.#rpc.query<AuditVerification>("audit.verify", given(params), options);
  }

  async #page(params: AuditListParams, options: RequestOptions | undefined): Promise<Page<AuditEntry>> {
    const { data, has_more, next_cursor, _request_id } = await this.#transport.json<AuditListResponse>(
      { method: "GET", path: "/audit", query: { ...params } },
      options,
    );
    return new Page(data, has_more ? next_cursor : null, _request_id, (next) =>
      this.#page({ ...params, cursor: next }, options),
    );
  }
}
