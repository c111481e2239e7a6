import { HOUR_MS } from "../../../sdk/src/contract/time-units.ts";
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

/** A group of one. */
export function groupOf(event: SecurityEvent, at: Date): EventGroup {
  return {
    ...NO_DETAILS,
    ...event,
    hour: new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS),
    count: 1,
    firstAt: at,
    lastAt: at,
  };
}

const NO_DETAILS = { accountId: null, keyId: null, email: null, sourceIp: null, upstream: null };

/** Tells whether a group may be counted on its own. */
export type GroupBound = (group: EventGroup, name: string) => boolean;

/** Admits the first groups of each kind, so that a flood of one kind does not displace others. */
export function firstOfEachKind(max: number): GroupBound {
  const admitted = new Map<SecurityEventKind, Set<string>>();
  return ({ kind }, name) => {
    const names = admitted.get(kind) ?? new Set();
    if (!names.has(name) && names.size >= max) return false;
    admitted.set(kind, names.add(name));
    return true;
  };
}

/** Merges equal groups. A group beyond the bound is counted by its kind and hour only. */
export class EventGroups {
  readonly #groups = new Map<string, EventGroup>();
  readonly #admits: GroupBound;

  constructor(admits: GroupBound) {
    this.#admits = admits;
  }

  get size(): number {
    return this.#groups.size;
  }

  values(): readonly EventGroup[] {
    return [...this.#groups.values()];
  }

  add(group: EventGroup): void {
    let counted = group;
    let name = nameOf(group);
    if (!this.#admits(group, name)) {
      counted = { ...group, ...NO_DETAILS };
      name = nameOf(counted);
    }
    const known = this.#groups.get(name);
    this.#groups.set(name, known === undefined ? counted : merged(known, counted));
  }
}

function merged(one: EventGroup, other: EventGroup): EventGroup {
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
