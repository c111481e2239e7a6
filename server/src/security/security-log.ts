import type { AccountId } from "../contract/account.ts";
import type {
  SecurityEvent,
  SecurityEventId,
  SecurityEventKind,
  SecurityEvents,
} from "../contract/security-event.ts";
import type { Database } from "../database/database.ts";
import { cursorTextOf, readCursorText, readPage } from "../database/page.ts";
import { type EventGroup, EventGroups, firstOfEachKind, type GroupBound, groupOf } from "./event-groups.ts";
import { addEvents, findUsers, listEvents } from "./security-store.ts";

/** The events of one hour that agree in every field, as operators see them. */
export interface ListedSecurityEvent {
  /** The id of the event, a UUID. */
  readonly id: SecurityEventId;
  /** What happened. */
  readonly kind: SecurityEventKind;
  /** How often it happened. */
  readonly count: number;
  /** When it happened first. */
  readonly firstAt: Date;
  /** When it happened last. */
  readonly lastAt: Date;
  /** The account of the key, the management token or the user; `null` if there is none. */
  readonly account: {
    /** The id of the account, a UUID. */
    readonly id: AccountId;
    /** The name of the account. */
    readonly name: string;
  } | null;
  /** Last 4 characters of the key; `null` for other events. */
  readonly keyId: string | null;
  /** The e-mail address of the user; `null` if there is none. */
  readonly userEmail: string | null;
  /** The address of the client; `null` if it is unknown or there is none. */
  readonly sourceIp: string | null;
  /** The name of the upstream that refused the credential; `null` for other events. */
  readonly upstream: string | null;
}

/** Filters events. `null` matches every value. */
export interface SecurityFilter {
  readonly kind: SecurityEventKind | null;
  readonly accountId: AccountId | null;
  /** An address or CIDR block. */
  readonly source: string | null;
}

/** The maximum of waiting groups of each kind, which take some MB in all. */
const MAX_WAITING = 2_000;
/** The maximum of groups of each kind that a node writes in an hour, so that no flood fills the database. */
const MAX_PER_HOUR = 500;

/**
 * Records security events. It counts them in memory and writes them every few seconds, so that refusing a request never waits for
 * the database. Events that could not be written are retried with the next ones.
 */
export class SecurityLog implements SecurityEvents {
  readonly #database: Database;
  readonly #longReads: Database;
  readonly #now: () => Date;
  #waiting = noneWaiting();
  /** The bounds of the hours that are being written. */
  #written: ReadonlyMap<number, GroupBound> = new Map();
  #writing: Promise<void> | null = null;

  /** `longReads`: the same database by other connections, for searches. */
  constructor(database: Database, longReads: Database, now: () => Date) {
    this.#database = database;
    this.#longReads = longReads;
    this.#now = now;
  }

  note(event: SecurityEvent): void {
    this.#waiting.add(groupOf(event, this.#now()));
  }

  /** Writes waiting events. Must be called every few seconds and before the process ends. @throws when the store fails. */
  async flush(): Promise<void> {
    // A running write may include events from before this call.
    while (this.#writing !== null) await this.#writing;
    if (this.#waiting.size === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  /** Returns a page, last seen first, including all events of this node. @throws {Failure} `invalid_request` for a bad cursor. */
  async list(
    filter: SecurityFilter,
    cursor: string | null,
    limit: number,
  ): Promise<{
    /** The events of the page, the last seen first. */
    readonly events: readonly ListedSecurityEvent[];
    /** The `cursor` of the next page; `null` on the last page. */
    readonly nextCursor: string | null;
  }> {
    const after = cursor === null ? null : readCursor(cursor);
    await this.flush();
    const { items, last } = await readPage(limit, (max) => listEvents(this.#longReads, filter, after, max));
    return { events: items, nextCursor: last === null ? null : cursorTextOf(last.lastAt.getTime(), last.id) };
  }

  async #write(): Promise<void> {
    const taken = this.#waiting.values();
    this.#waiting = noneWaiting();
    try {
      await addEvents(this.#database, this.#bounded(await this.#withUsers(taken)));
    } catch (error) {
      for (const group of taken) this.#waiting.add(group);
      throw error;
    }
  }

  /** Removes e-mail addresses that belong to no user. This runs before a write, so that no sign-in waits for it. */
  async #withUsers(groups: readonly EventGroup[]): Promise<readonly EventGroup[]> {
    const emails = new Set(groups.flatMap(({ email }) => (email === null ? [] : [email])));
    if (emails.size === 0) return groups;
    const users = await findUsers(this.#database, [...emails]);
    return groups.map((group) => {
      if (group.email === null) return group;
      const accountId = users.get(group.email);
      return accountId === undefined ? { ...group, email: null } : { ...group, accountId };
    });
  }

  /** Applies the hourly bound after unknown addresses were removed, so that guessing many users from one address is one group. */
  #bounded(groups: readonly EventGroup[]): readonly EventGroup[] {
    const hours = new Set(groups.map(({ hour }) => hour.getTime()));
    const bounds = new Map(
      [...hours].map((hour) => [hour, this.#written.get(hour) ?? firstOfEachKind(MAX_PER_HOUR)]),
    );
    this.#written = bounds;
    const bounded = new EventGroups(
      (group, name) => bounds.get(group.hour.getTime())?.(group, name) ?? false,
    );
    for (const group of groups) bounded.add(group);
    return bounded.values();
  }
}

function noneWaiting(): EventGroups {
  return new EventGroups(firstOfEachKind(MAX_WAITING));
}

/** A position in the list: the group with this id, last seen at this time. */
export interface SecurityCursor {
  readonly lastAt: Date;
  readonly id: SecurityEventId;
}

// Milliseconds since 1970, and a UUID.
const CURSOR = /^(\d{1,15})~([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

/** @throws {Failure} `invalid_request` when the text is not a cursor. */
function readCursor(text: string): SecurityCursor {
  const { number, id } = readCursorText(text, CURSOR);
  return { lastAt: new Date(Number(number)), id: id as SecurityEventId };
}
