import type { AccountId } from "../accounts/account.ts";
import { ANSWER_TIMEOUT_MS, within } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import { type AsOf, type Cursor, cursorText, readCursor } from "./cursor.ts";
import type { EntryId, ListedEntry } from "./entry.ts";
import type { EntryFilter } from "./filter.ts";
import type { Recorder } from "./recorder.ts";

export type ExportFormat = "ndjson" | "csv";

/** What reading the audit log needs of the store. */
export interface EntryReader {
  /** This moment: whatever is recorded of the account by now. */
  asOf(accountId: AccountId): Promise<AsOf>;
  /** @returns `null` when the account has no such entry. */
  findEntry(accountId: AccountId, id: EntryId): Promise<ListedEntry | null>;
  /** The account's entries before one, newest first. */
  listEntries(
    accountId: AccountId,
    filter: EntryFilter,
    before: EntryId | null,
    asOf: AsOf,
    limit: number,
  ): Promise<readonly ListedEntry[]>;
  /** Lines of the account's entries after one, oldest first, each with the cursor that goes on after it. */
  exportEntries(
    accountId: AccountId,
    format: ExportFormat,
    filter: EntryFilter,
    after: EntryId | null,
    asOf: AsOf,
    limit: number,
  ): Promise<ExportedLines>;
}

export interface ExportedLines {
  /** Each ends with a newline. */
  readonly text: string;
  readonly count: number;
  readonly last: EntryId | null;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly ListedEntry[];
  /** To be passed to get the page after this one; `null` on the last page. */
  readonly nextCursor: string | null;
}

export const AUDIT_PAGE_LIMIT = 1_000;
const EXPORTED_AT_ONCE = 5_000;

/** The audit log as its account reads it. */
export class AuditLog {
  readonly #reader: EntryReader;
  readonly #recorder: Recorder;

  constructor(reader: EntryReader, recorder: Recorder) {
    this.#reader = reader;
    this.#recorder = recorder;
  }

  /**
   * A page of entries. Requests that this node has answered are in the first; the next ones hold what was recorded
   * when the first was read.
   *
   * @throws {Failure} `invalid_request` when the cursor is not one of ours.
   */
  async list(
    accountId: AccountId,
    filter: EntryFilter,
    cursor: string | null,
    limit: number,
  ): Promise<AuditPage> {
    const { asOf, entry } = await this.#start(accountId, cursor);
    const entries = await this.#reader.listEntries(accountId, filter, entry, asOf, limit + 1);
    const page = entries.slice(0, limit);
    const last = entries.length > limit ? page.at(-1) : undefined;
    return { entries: page, nextCursor: last === undefined ? null : cursorText({ asOf, entry: last.id }) };
  }

  /**
   * The entry of one request. One that this node has answered is there.
   *
   * @throws {Failure} `not_found`
   */
  async get(accountId: AccountId, id: EntryId): Promise<ListedEntry> {
    const entry = await within(ANSWER_TIMEOUT_MS, async () => {
      await this.#recorder.flushed();
      return this.#reader.findEntry(accountId, id);
    });
    if (entry !== null) return entry;
    throw new Failure(
      "not_found",
      "The account has no entry of this request. It may have been made with another account's key, or be older than entries are kept.",
      { param: "requestId" },
    );
  }

  /**
   * All matching entries as text, oldest first, some thousand lines at a time. Interrupted, it goes on after the last
   * whole line, by the cursor that is in it: without gap or repeat.
   *
   * @throws {Failure} `invalid_request` when the cursor is not one of ours.
   */
  async export(
    accountId: AccountId,
    format: ExportFormat,
    filter: EntryFilter,
    cursor: string | null,
  ): Promise<AsyncIterable<string>> {
    const { asOf, entry } = await this.#start(accountId, cursor);
    return this.#lines(accountId, format, filter, entry, asOf);
  }

  async *#lines(
    accountId: AccountId,
    format: ExportFormat,
    filter: EntryFilter,
    start: EntryId | null,
    asOf: AsOf,
  ): AsyncGenerator<string> {
    for (let after = start; ; ) {
      const { text, count, last } = await this.#reader.exportEntries(
        accountId,
        format,
        filter,
        after,
        asOf,
        EXPORTED_AT_ONCE,
      );
      if (count > 0) yield text;
      if (count < EXPORTED_AT_ONCE || last === null) return;
      after = last;
    }
  }

  async #start(
    accountId: AccountId,
    cursor: string | null,
  ): Promise<Cursor | { readonly asOf: AsOf; readonly entry: null }> {
    if (cursor !== null) return readCursor(cursor);
    return within(ANSWER_TIMEOUT_MS, async () => {
      await this.#recorder.flushed();
      return { asOf: await this.#reader.asOf(accountId), entry: null };
    });
  }
}
