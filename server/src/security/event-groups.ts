import type { AccountId } from "../contract/account.ts";
import type { SecurityEvent, SecurityEventKind } from "../contract/security-event.ts";

/** The count of the events of one hour that agree in every field. */
export interface EventGroup {
  readonly kind: SecurityEventKind;
  /** Its beginning. */
  readonly hour: Date;
  readonly accountId: AccountId | null;
  readonly keyId: string | null;
  readonly email: string | null;
  readonly sourceIp: string | null;
  readonly upstream: string | null;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

const HOUR_MS = 60 * 60_000;

/** A group of one. */
export function groupOf(event: SecurityEvent, at: Date): EventGroup {
  return {
    ...NOTHING_IN_COMMON,
    ...event,
    hour: new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS),
    count: 1,
    firstAt: at,
    lastAt: at,
  };
}

const NOTHING_IN_COMMON = { accountId: null, keyId: null, email: null, sourceIp: null, upstream: null };

/** Limits the number of groups of each kind, so that a flood of one kind does not displace others. */
export class GroupBound {
  readonly #max: number;
  readonly #admitted = new Map<SecurityEventKind, Set<string>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns whether the group is among the first ones of its kind. */
  admits(kind: SecurityEventKind, name: string): boolean {
    let names = this.#admitted.get(kind);
    if (names === undefined) {
      names = new Set();
      this.#admitted.set(kind, names);
    }
    if (names.has(name)) return true;
    if (names.size >= this.#max) return false;
    names.add(name);
    return true;
  }
}

/** Merges equal groups. A group beyond the bound is counted by its kind and hour only. */
export class EventGroups {
  readonly #groups = new Map<string, EventGroup>();
  readonly #boundOf: (group: EventGroup) => GroupBound;

  constructor(boundOf: (group: EventGroup) => GroupBound) {
    this.#boundOf = boundOf;
  }

  get size(): number {
    return this.#groups.size;
  }

  values(): readonly EventGroup[] {
    return [...this.#groups.values()];
  }

  add(group: EventGroup): void {
    const name = nameOf(group);
    if (this.#boundOf(group).admits(group.kind, name)) {
      this.#merge(name, group);
      return;
    }
    const ofItsKind = { ...group, ...NOTHING_IN_COMMON };
    this.#merge(nameOf(ofItsKind), ofItsKind);
  }

  #merge(name: string, group: EventGroup): void {
    const known = this.#groups.get(name);
    this.#groups.set(name, known === undefined ? group : together(known, group));
  }
}

function together(one: EventGroup, other: EventGroup): EventGroup {
  return {
    ...one,
    count: one.count + other.count,
    firstAt: new Date(Math.min(one.firstAt.getTime(), other.firstAt.getTime())),
    lastAt: new Date(Math.max(one.lastAt.getTime(), other.lastAt.getTime())),
  };
}

function nameOf({ kind, hour, accountId, keyId, email, sourceIp, upstream }: EventGroup): string {
  return JSON.stringify([kind, hour.getTime(), accountId, keyId, email, sourceIp, upstream]);
}
