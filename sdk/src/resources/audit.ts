import { AuditExport, type ExportOptions } from "../audit/export.ts";
import type { AuditEntry, AuditExportParams, AuditListParams, AuditListResponse } from "../contract/audit.ts";
import type { AuditVerification, AuditVerifyParams } from "../contract/management.ts";
import { given } from "../core/given.ts";
import { APIPagePromise, Page } from "../core/pagination.ts";
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
   * Lists entries, newest first. `for await (const entry of client.audit.list())` iterates over all of them, with one page in
   * memory at a time. Options apply to each page's request.
   *
   * @throws {BadRequestError} a filter, `limit` or `cursor` is not valid.
   */
  list(params: AuditListParams = {}, options?: RequestOptions): APIPagePromise<AuditEntry> {
    const answer = this.#transport.send({ method: "GET", path: "/audit", query: { ...params } }, options);
    return new APIPagePromise(answer, async (begun) => {
      const { data, has_more, next_cursor, _request_id } =
        await this.#transport.read<AuditListResponse>(begun);
      return new Page(data, has_more ? next_cursor : null, _request_id, (next) =>
        this.list({ ...params, cursor: next }, options),
      );
    });
  }

  /**
   * Exports all matching entries, oldest first, as lines. Resumes by itself after an interruption.
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

  /** Verifies that entries are unmodified, a part of the log per call. Pass `next` as `after` to continue. */
  verify(params: AuditVerifyParams = {}, options?: RequestOptions): Promise<AuditVerification> {
    return this.#rpc.query<AuditVerification>("audit.verify", given(params), options);
  }
}
