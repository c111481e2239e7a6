import type { AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import type { EntryId, ListedEntry } from "./entry.ts";
import type { Recorder } from "./recorder.ts";

/** What reading the audit log needs of the store. */
export interface EntryReader {
  /** The account's entries before one, newest first. */
  listEntries(accountId: AccountId, before: EntryId | null, limit: number): Promise<readonly ListedEntry[]>;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly ListedEntry[];
  /** To be passed to get the page after this one; `null` on the last page. */
  readonly nextCursor: string | null;
}

export const AUDIT_PAGE_LIMIT = 1_000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The audit log as its account reads it. */
export class AuditLog {
  readonly #reader: EntryReader;
  readonly #recorder: Recorder;

  constructor(reader: EntryReader, recorder: Recorder) {
    this.#reader = reader;
    this.#recorder = recorder;
  }

  /**
   * A page of entries. Requests that this node has answered are in it.
   *
   * @throws {Failure} `invalid_request` when the cursor is not one of ours.
   */
  async list(accountId: AccountId, cursor: string | null, limit: number): Promise<AuditPage> {
    if (cursor !== null && !UUID.test(cursor)) {
      throw new Failure(
        "invalid_request",
        "The cursor is not valid. Pass the `next_cursor` of the page before, as it was.",
        {
          param: "cursor",
        },
      );
    }
    await this.#recorder.flushed();
    const entries = await this.#reader.listEntries(accountId, cursor as EntryId | null, limit + 1);
    const page = entries.slice(0, limit);
    return { entries: page, nextCursor: entries.length > limit ? (page.at(-1)?.id ?? null) : null };
  }
}
