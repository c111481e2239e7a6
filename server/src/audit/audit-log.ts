import type { AccountId } from "../contract/account.ts";
import type { EntryId, ListedEntry } from "../contract/entry.ts";
import { type Reader, type ReadSlices, type Reads, untilEnded } from "../database/reads.ts";
import { withAnswerTimeout } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import type { PostgresAuditReader } from "./audit-reader.ts";
import {
  type AsOf,
  cursorText,
  exportCursorStart,
  isClosed,
  readCursor,
  readExportCursor,
} from "./cursor.ts";
import type { ExportedLines, ExportPlan } from "./export-plan.ts";
import type { EntryFilter } from "./filter.ts";
import type { LogScope } from "./filter-sql.ts";
import type { FoundEntries, LogSearch } from "./log-search.ts";
import type { Recorder } from "./recorder.ts";
import { type Removed, requireContinuable, requireKept } from "./removed-entries.ts";
import { type ExportFormat, selectionOf } from "./selection.ts";

/** What to export. */
export interface ExportRequest {
  readonly format: ExportFormat;
  readonly filter: EntryFilter;
  /** The cursor of the last line that the client has; `null`: it has none. */
  readonly cursor: string | null;
  /** Whether to add the lines that prove a part of the log: see `ProvedExport`. Only for NDJSON. */
  readonly isProved: boolean;
}

/** Which page to list. */
export interface PageOfEntries {
  readonly filter: EntryFilter;
  /** The `nextCursor` of the page before; `null`: the first page. */
  readonly cursor: string | null;
  readonly limit: number;
  /** Whose read budget the page uses. Default: the account's, or the operators'. */
  readonly reader?: Reader;
}

interface AuditPage {
  /** Newest first. A slow search may return fewer entries than the limit, even none, and continue with the next page. */
  readonly entries: readonly ListedEntry[];
  /** The cursor of the next page; `null` on the last page. */
  readonly nextCursor: string | null;
}

export const AUDIT_PAGE_LIMIT = 1_000;
const EXPORTED_AT_ONCE = 5_000;
/** A search that takes longer returns what it has found as a page. */
const SEARCH_MS = 10_000;

/** The audit log as an account reads its own, and operators that of all accounts. */
export class AuditLog {
  readonly #entries: PostgresAuditReader;
  readonly #recorder: Recorder;
  readonly #reads: Reads;
  readonly #closedUntilMs: () => number;

  /** `closedUntilMs`: a time that has passed by all clocks that date entries, in milliseconds since 1970. */
  constructor(entries: PostgresAuditReader, recorder: Recorder, reads: Reads, closedUntilMs: () => number) {
    this.#entries = entries;
    this.#recorder = recorder;
    this.#reads = reads;
    this.#closedUntilMs = closedUntilMs;
  }

  /**
   * Lists a page of entries. The first page includes all requests that this node has answered. Later pages show the log
   * of an account as it was at the first; that of all accounts may have further entries by then.
   *
   * @throws {Failure} `invalid_request` when the cursor is not that of pages with this scope and filter; as {@link Reads.whole}.
   */
  async list(
    scope: LogScope,
    { filter, cursor, limit, reader = scope ?? "operators" }: PageOfEntries,
  ): Promise<AuditPage> {
    const selection = selectionOf(scope, "page", filter);
    const { asOf, entry } =
      cursor === null ? { asOf: await this.#now(scope), entry: null } : readCursor(cursor, selection);
    const { entries, searchedTo } = await this.#reads.whole(reader, (slices) =>
      this.#search(slices, { scope, filter, asOf }, entry, limit + 1),
    );
    const page = entries.slice(0, limit);
    const last = entries.length > limit ? (page.at(-1)?.id ?? null) : searchedTo;
    return { entries: page, nextCursor: last === null ? null : cursorText({ asOf, entry: last }, selection) };
  }

  /** Searches part after part of the log until there are enough entries or the time is over. */
  async #search(
    slices: ReadSlices,
    search: LogSearch,
    before: EntryId | null,
    limit: number,
  ): Promise<FoundEntries> {
    const entries: ListedEntry[] = [];
    const endMs = performance.now() + SEARCH_MS;
    for (let from = before; ; ) {
      const missing = limit - entries.length;
      const found = await slices.run(() => this.#entries.listEntries(search, from, missing));
      entries.push(...found.entries);
      const { searchedTo } = found;
      const isOver = entries.length >= limit || searchedTo === null;
      if (isOver || slices.isSpent() || performance.now() >= endMs) return { entries, searchedTo };
      from = searchedTo;
    }
  }

  /**
   * Returns the entry of a request. Requests that this node has answered are included.
   *
   * @throws {Failure} `not_found`
   */
  async get(scope: LogScope, id: EntryId): Promise<ListedEntry> {
    const entry = await withAnswerTimeout(async () => {
      await this.#recorder.tryFlush(scope);
      const found = await this.#entries.findEntry(scope, id);
      if (found !== null) return found;
      // Only now it matters whether all entries are in the database.
      await this.#recorder.flush(scope);
      return this.#entries.findEntry(scope, id);
    });
    if (entry !== null) return entry;
    const none =
      scope === null
        ? "The service has no entry for this request. It"
        : "The account has no entry for this request. The request may belong to another account, or its entry";
    throw new Failure("not_found", `${none} may have been deleted at the end of its retention.`, {
      param: "requestId",
    });
  }

  /** The names of accounts, by their ids. */
  accountNames(ids: readonly AccountId[]): Promise<ReadonlyMap<AccountId, string>> {
    return this.#entries.accountNames([...new Set(ids)]);
  }

  /**
   * Exports all matching entries as text, oldest first, some thousand lines at a time. After an interruption, the cursor in the
   * last complete line continues the export without gap or repeat.
   *
   * The account has one export more until the text has ended or is left: call `return` of a text that is not read.
   *
   * @throws {Failure} `invalid_request` when the cursor is not that of an export with these parameters; `not_found` when entries after it
   *   were deleted, also while the text is read; `rate_limit_exceeded` for too many exports at once.
   */
  async export(
    accountId: AccountId,
    { format, filter, cursor, isProved }: ExportRequest,
  ): Promise<AsyncIterableIterator<string>> {
    const selection = selectionOf(accountId, format, filter);
    const position = cursor === null ? null : readExportCursor(cursor, isProved, selection);
    if (position !== null) {
      const removed = await withAnswerTimeout(() => this.#entries.removed(accountId));
      requireContinuable(position, removed);
    }
    const asOf = position?.asOf ?? (await this.#now(accountId));
    const hasSnapshot = position === null ? !isClosed(filter, this.#closedUntilMs()) : position.asOf !== null;
    const plan: ExportPlan = {
      accountId,
      format,
      filter,
      asOf,
      cursorStart: exportCursorStart(hasSnapshot ? asOf : null, selection),
    };
    const stream = this.#reads.stream(accountId);
    const pages = isProved
      ? this.#entries.provedLines(stream.run, plan, position)
      : pagesAfter(position?.entry ?? null, (after) =>
          stream.run(() => this.#entries.exportEntries(plan, after, EXPORTED_AT_ONCE)),
        );
    return untilEnded(pages, () => stream.end());
  }

  /** The present moment, which includes all requests that this node has answered. */
  #now(scope: LogScope): Promise<AsOf> {
    return withAnswerTimeout(async () => {
      await this.#recorder.flush(scope);
      return this.#entries.asOf(scope);
    });
  }
}

async function* pagesAfter(
  start: EntryId | null,
  read: (after: EntryId | null) => Promise<ExportedLines>,
): AsyncGenerator<string> {
  let before: Removed | null = null;
  for (let after = start; ; ) {
    const { text, count, last, searchedTo, removed } = await read(after);
    if (after !== null) requireKept(after, removed, before);
    before = removed;
    if (count > 0) yield text;
    after = count < EXPORTED_AT_ONCE ? searchedTo : last;
    if (after === null) return;
  }
}
