import { AuditExport, type ExportOptions } from "../audit/export.ts";
import type { AuditEntry, AuditExportParams, AuditListParams, AuditListResponse } from "../contract/audit.ts";
import type {
  AuditSummary,
  AuditSummaryParams,
  AuditTailParams,
  AuditVerification,
  AuditVerifyParams,
  LiveAuditEntries,
} from "../contract/management.ts";
import type { APIPromise } from "../core/api-promise.ts";
import { notFromService } from "../core/error-answers.ts";
import { leavable } from "../core/iteration.ts";
import { APIPagePromise, Page } from "../core/pagination.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";
import { hasList, type Trpc } from "../core/trpc.ts";

/** The account's audit log. */
export class Audit {
  readonly #transport: Transport;
  readonly #trpc: Trpc;

  constructor(transport: Transport, trpc: Trpc) {
    this.#transport = transport;
    this.#trpc = trpc;
  }

  /**
   * Lists entries, newest first. `for await (const entry of client.audit.list())` iterates over all of them, with one page in
   * memory at a time. Options apply to each page's request.
   *
   * @example
   * ```ts
   * const { data } = await client.audit.list({ status: "4xx", from: "2026-11-01", limit: 10 });
   * console.log(data.map(({ timestamp, endpoint, error_code }) => `${timestamp} ${endpoint}: ${error_code}`));
   * ```
   *
   * @throws {BadRequestError} a filter, `limit` or `cursor` is not valid.
   */
  list(params: AuditListParams = {}, options?: RequestOptions): APIPagePromise<AuditEntry> {
    const answer = this.#transport.send({ method: "GET", path: "/audit", query: { ...params } }, options);
    return new APIPagePromise(answer, async (begun) => {
      const { data, has_more, next_cursor, _request_id } =
        await this.#transport.read<AuditListResponse>(begun);
      // Without its cursor, a list would begin again and never end.
      if (!Array.isArray(data) || (has_more && !next_cursor)) throw notFromService(begun.wire);
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
   * const lines = client.audit.export({ format: "csv", from: "2026-11-01", to: "2026-11-30" });
   * for await (const line of lines) console.log(line);
   * ```
   */
  export(params: AuditExportParams = {}, options: ExportOptions = {}): AuditExport {
    return new AuditExport(this.#transport, params, options);
  }

  /**
   * Adds up the entries that match: totals, a histogram, and how many have each model, error code and status. Of more than 200,000
   * entries in the period, the newest are counted.
   *
   * @example
   * ```ts
   * const { total, errorCodes } = await client.audit.summary({ status: "error", from: "2026-11-01" });
   * console.log(total.requests, errorCodes);
   * ```
   */
  summary(params: AuditSummaryParams = {}, options?: RequestOptions): APIPromise<AuditSummary> {
    return this.#trpc.audit.summary.query(params, options);
  }

  /**
   * Verifies that entries are unmodified, a part of the log per call. Pass `next` as `after` to continue.
   *
   * @example
   * ```ts
   * const { problems, head } = await client.audit.verify();
   * console.log(problems, head?.batch);
   * ```
   */
  verify(params: AuditVerifyParams = {}, options?: RequestOptions): Promise<AuditVerification> {
    return this.#trpc.audit.verify.query(params, options);
  }

  /**
   * Iterates over entries as they are recorded, for as long as the loop runs. Reconnects by itself, and continues after the last
   * event. An event has at most 200 entries: `skipped` counts the others, and `hasGap` tells that entries may be missing
   * because the connection was lost for too long. Both are to be read in {@link Audit.list}.
   */
  tail(
    params: AuditTailParams = {},
    options?: RequestOptions,
  ): AsyncGenerator<LiveAuditEntries, void, undefined> {
    const events = this.#trpc.audit.tail.subscribe(params, options);
    return leavable(entriesIn(events), () => {
      events.return();
    });
  }
}

async function* entriesIn(
  events: AsyncIterable<{ readonly data: LiveAuditEntries }>,
): AsyncGenerator<LiveAuditEntries, void, undefined> {
  for await (const { data } of events) {
    if (!hasList(data, "entries")) throw notFromService({ status: 200, headers: new Headers() });
    // The first event only tells where to continue.
    if (data.entries.length > 0 || data.skipped > 0 || data.hasGap) yield data;
  }
}
