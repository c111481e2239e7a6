import type { AccountId } from "../contract/account.ts";
import type {
  SecurityEvent,
  SecurityEventId,
  SecurityEventKind,
  SecurityEvents,
} from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { type EventGroup, EventGroups, GroupBound, groupOf } from "./event-groups.ts";
import type { PostgresSecurity } from "./security-store.ts";

/** Events of one hour that have everything in common, as operators see them. */
export interface ListedSecurityEvent {
  readonly id: SecurityEventId;
  readonly kind: SecurityEventKind;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** That of the key, of the management token or of the user. */
  readonly account: { readonly id: AccountId; readonly name: string } | null;
  /** Last 4 characters of the key. */
  readonly keyId: string | null;
  readonly userEmail: string | null;
  readonly sourceIp: string | null;
  readonly upstream: string | null;
}

/** Which events; `null`: whatever they are in this respect. */
export interface SecurityFilter {
  readonly kind: SecurityEventKind | null;
  readonly accountId: AccountId | null;
  /** An address or CIDR block. */
  readonly source: string | null;
}

/** Groups of each kind that may wait to be written: some MB of all kinds. */
const MAX_WAITING = 2_000;
/** Groups of each kind that a node writes in an hour, so that no flood fills the database. */
const MAX_PER_HOUR = 500;

/**
 * What happens at the doors. Events are counted in memory by what they have in common, and written every few seconds:
 * a request that is refused waits for nothing. What the database does not take waits for the next time.
 */
export class SecurityLog implements SecurityEvents {
  readonly #store: PostgresSecurity;
  readonly #now: () => Date;
  #waiting = noneWaiting();
  /** Of the hours that are being written. */
  readonly #written = new Map<number, GroupBound>();
  #writing: Promise<void> | null = null;

  constructor(store: PostgresSecurity, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  note(event: SecurityEvent): void {
    this.#waiting.add(groupOf(event, this.#now()));
  }

  /** Writes what is waiting. To be called every few seconds, and at the end. @throws when the store does not take it. */
  async flush(): Promise<void> {
    // What another call is writing may have been noted before this one.
    while (this.#writing !== null) await this.#writing;
    if (this.#waiting.size === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  /** A page, last seen first, with all that this node has noted. @throws {Failure} `invalid_request` for a bad cursor. */
  async list(
    filter: SecurityFilter,
    cursor: string | null,
    limit: number,
  ): Promise<{ readonly events: readonly ListedSecurityEvent[]; readonly nextCursor: string | null }> {
    const after = cursor === null ? null : readCursor(cursor);
    await this.flush();
    const found = await this.#store.listEvents(filter, after, limit + 1);
    const events = found.slice(0, limit);
    const last = found.length > limit ? events.at(-1) : undefined;
    return { events, nextCursor: last === undefined ? null : cursorText(last) };
  }

  async #write(): Promise<void> {
    const taken = this.#waiting.values();
    this.#waiting = noneWaiting();
    try {
      await this.#store.addEvents(this.#bounded(await this.#withUsers(taken)));
    } catch (error) {
      for (const group of taken) this.#waiting.add(group);
      throw error;
    }
  }

  /** Keeps of what was typed what is a user's address. Asked here and not at the door, where nobody should wait for it. */
  async #withUsers(groups: readonly EventGroup[]): Promise<readonly EventGroup[]> {
    const emails = new Set(groups.flatMap(({ email }) => (email === null ? [] : [email])));
    if (emails.size === 0) return groups;
    const users = await this.#store.findUsers([...emails]);
    return groups.map((group) => {
      if (group.email === null) return group;
      const accountId = users.get(group.email);
      return accountId === undefined ? { ...group, email: null } : { ...group, accountId };
    });
  }

  /** After addresses that are nobody's are gone: guessing many users from one address is one group. */
  #bounded(groups: readonly EventGroup[]): readonly EventGroup[] {
    const hours = new Set(groups.map(({ hour }) => hour.getTime()));
    for (const hour of this.#written.keys()) if (!hours.has(hour)) this.#written.delete(hour);
    const bounded = new EventGroups(({ hour }) => this.#boundOf(hour));
    for (const group of groups) bounded.add(group);
    return bounded.values();
  }

  #boundOf(hour: Date): GroupBound {
    let bound = this.#written.get(hour.getTime());
    if (bound === undefined) {
      bound = new GroupBound(MAX_PER_HOUR);
      this.#written.set(hour.getTime(), bound);
    }
    return bound;
  }
}

function noneWaiting(): EventGroups {
  const bound = new GroupBound(MAX_WAITING);
  return new EventGroups(() => bound);
}

/** A position in the list: the group with this id, last seen at this time. */
export interface SecurityCursor {
  readonly lastAt: Date;
  readonly id: SecurityEventId;
}

// Milliseconds since 1970, and a UUID.
const CURSOR = /^(\d{1,15})~([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

function cursorText({ lastAt, id }: SecurityCursor): string {
  return `${lastAt.getTime()}~${id}`;
}

/** @throws {Failure} `invalid_request` when the text is not a cursor. */
function readCursor(text: string): SecurityCursor {
  const [, lastAt, id] = CURSOR.exec(text) ?? [];
  if (lastAt !== undefined && id !== undefined) {
    return { lastAt: new Date(Number(lastAt)), id: id as SecurityEventId };
  }
  throw new Failure(
    "invalid_request",
    "The cursor is not valid. Pass the cursor of an earlier answer unchanged.",
    { param: "cursor" },
  );
}
