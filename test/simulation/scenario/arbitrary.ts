import fc from "fast-check";
import { DATABASE_OPERATIONS } from "../stores/database.ts";
import { REDIS_OPERATIONS } from "../stores/redis.ts";
import { MESSAGE_FATES, type MessageFate } from "../world/message-fault.ts";
import type { Burst, Event, Moment, Outage, Schedule, StoreName } from "./schedule.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const MAX_NODES = 3;
const STEPS_IN_DECADES = 1_000;

const OPERATIONS: Readonly<Record<StoreName, readonly string[]>> = {
  database: DATABASE_OPERATIONS,
  redis: REDIS_OPERATIONS,
};

/** Times of all lengths: as many between one second and ten as between ten and a hundred. Shrinks to the shortest. */
export function duration(minMs: number, maxMs: number): fc.Arbitrary<number> {
  return fc
    .nat(STEPS_IN_DECADES)
    .map((step) => Math.round(minMs * (maxMs / minMs) ** (step / STEPS_IN_DECADES)));
}

/** Half of them within some seconds, the others of any length. */
function lengthUpTo(longestMs: number): fc.Arbitrary<number> {
  return fc.oneof(duration(10, Math.min(longestMs, 10 * SECOND_MS)), fc.integer({ min: 10, max: longestMs }));
}

/** What schedules are made of. */
export interface Menu {
  readonly nodes: { readonly min: number; readonly max: number };
  readonly accounts: number;
  readonly keysEach: number;
  readonly creditNanoUsd: { readonly min: number; readonly max: number };
  readonly maxBursts: number;
  readonly maxRequests: number;
  readonly maxTokens: number;
  readonly longestEveryMs: number;
  readonly longestGapMs: number;
  readonly longestAnswerMs: number;
  readonly keyed: "always" | "sometimes" | "never";
  /** What may happen, each as often as the others. */
  readonly events: readonly fc.Arbitrary<Event>[];
  readonly minEvents: number;
  readonly maxEvents: number;
}

/** Schedules of a menu. When a run fails, fast-check looks for a shorter one that fails as well. */
export function schedulesOf(menu: Menu): fc.Arbitrary<Schedule> {
  return fc.record({
    // Another seed is another run, not a shorter one.
    seed: fc.noShrink(fc.nat(0x7fff_ffff)),
    nodes: fc.integer(menu.nodes),
    creditNanoUsd: fc.integer(menu.creditNanoUsd),
    bursts: fc.array(burstOf(menu), { minLength: 1, maxLength: menu.maxBursts, size: "max" }),
    events: fc.array(fc.oneof(...menu.events), {
      minLength: menu.minEvents,
      maxLength: menu.maxEvents,
      size: "max",
    }),
  });
}

function burstOf(menu: Menu): fc.Arbitrary<Burst> {
  const keyed = { always: fc.constant(true), never: fc.constant(false), sometimes: fc.boolean() };
  return fc.record({
    gapMs: lengthUpTo(menu.longestGapMs),
    node: fc.nat(MAX_NODES - 1),
    account: fc.nat(menu.accounts - 1),
    key: fc.nat(menu.keysEach - 1),
    requests: fc.integer({ min: 1, max: menu.maxRequests }),
    everyMs: duration(1, menu.longestEveryMs),
    tokens: fc.integer({ min: 10, max: menu.maxTokens }),
    lastsMs: fc.oneof(duration(10, SECOND_MS), lengthUpTo(menu.longestAnswerMs)),
    isStreamed: fc.boolean(),
    isKeyed: keyed[menu.keyed],
    seed: fc.noShrink(fc.nat(0xffff)),
  });
}

const moment: fc.Arbitrary<Moment> = fc.record({
  burst: fc.nat(7),
  afterMs: duration(1, 30 * SECOND_MS),
});
/** Ends are as likely shortly before a burst as in it, or long after: what is over may have left something behind. */
const end: fc.Arbitrary<Moment> = fc.record({
  burst: fc.nat(7),
  afterMs: fc.oneof(
    duration(1, 30 * SECOND_MS),
    duration(1, 10 * SECOND_MS).map((ms) => -ms),
    duration(30 * SECOND_MS, 30 * MINUTE_MS),
  ),
});
const node = fc.nat(MAX_NODES - 1);

/** Processes that die, and are started again. */
export const crashes: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("crash" as const),
  node,
  at: fc.record({ burst: fc.nat(7), afterMs: duration(1, 3 * SECOND_MS) }),
  afterSteps: fc.oneof(fc.nat(20), fc.nat(100)),
  backAt: end,
});

/** Nodes that are stopped as an operator stops them, and started again. */
export const restarts: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("restart" as const),
  node,
  at: moment,
});

/** Disks that are full, most of them from a time on at which requests are answered. */
export const fullDisks: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("full disk" as const),
  node,
  at: fc.record({ burst: fc.nat(7), afterMs: duration(1, 5 * SECOND_MS) }),
  until: end,
});

/** Processes that stand still, most of them while requests of a burst are sent. */
export function freezes(longestMs: number): fc.Arbitrary<Event> {
  return fc.record({
    kind: fc.constant("freeze" as const),
    node,
    at: fc.record({ burst: fc.nat(7), afterMs: duration(1, 5 * SECOND_MS) }),
    lastsMs: duration(100, longestMs),
  });
}

/** Backups that are restored, of up to a minute ago. */
export const restores: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("restored" as const),
  at: moment,
  lostMs: duration(SECOND_MS, MINUTE_MS),
  isNoticed: fc.boolean(),
});

/** Releases of credit that nodes have reserved. */
export const releases: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("release" as const),
  node,
  at: moment,
});

export interface OutageMenu {
  readonly store: StoreName;
  readonly how: readonly [Outage["how"], ...Outage["how"][]];
  /** Whom it cuts off. */
  readonly who: "one node" | "all nodes" | "either";
}

/** Times in which a store is out of reach. */
export function outages({ store, how, who }: OutageMenu): fc.Arbitrary<Event> {
  const all = fc.constant(null);
  return fc.record({
    kind: fc.constant("outage" as const),
    node: { "one node": node, "all nodes": all, either: fc.oneof(node, all) }[who],
    store: fc.constant(store),
    how: fc.constantFrom(...how),
    at: moment,
    until: end,
  });
}

/** A node's connection to Redis that breaks, and is there again after a moment. */
export const blips: fc.Arbitrary<Event> = fc
  .record({ node, at: moment, lastsMs: duration(100, SECOND_MS) })
  .map(({ node: cutOff, at, lastsMs }) => ({
    kind: "outage" as const,
    node: cutOff,
    store: "redis" as const,
    how: "cut" as const,
    at,
    until: { burst: at.burst, afterMs: at.afterMs + lastsMs },
  }));

/** Single messages that are lost, late or sent twice. */
export function hitMessages(
  store: StoreName,
  fates: readonly MessageFate[] = MESSAGE_FATES,
  operations: readonly string[] = OPERATIONS[store],
): fc.Arbitrary<Event> {
  return fc.record({
    kind: fc.constant("message" as const),
    node,
    store: fc.constant(store),
    operation: fc.constantFrom(null, ...operations),
    skip: fc.oneof(fc.constant(0), fc.nat(5)),
    fate: fc.constantFrom(...fates),
    byMs: fc.oneof(duration(SECOND_MS, 30 * SECOND_MS), duration(SECOND_MS, 3 * MINUTE_MS)),
    at: moment,
  });
}

/** Restarts of Redis, which forgets everything. */
export function emptiedRedis(longestMs: number): fc.Arbitrary<Event> {
  return fc.record({ kind: fc.constant("emptied" as const), at: moment, downMs: duration(10, longestMs) });
}

/** A Redis that forgets everything, or only the versions of accounts, without losing a connection. */
export const forgetfulRedis: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom("flushed" as const, "expired" as const),
  at: moment,
});

/** Wall clocks that jump, by up to some days. */
export const clockJumps: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("clock" as const),
  node,
  byMs: fc.oneof(
    duration(SECOND_MS, 5 * 24 * 60 * MINUTE_MS),
    duration(SECOND_MS, 60 * MINUTE_MS).map((ms) => -ms),
  ),
  at: moment,
});

/** Times in which the database's clock is wrong, by up to some days. */
export const databaseClockJumps: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("database clock" as const),
  byMs: fc.oneof(
    duration(SECOND_MS, 5 * 24 * 60 * MINUTE_MS),
    duration(SECOND_MS, 5 * 24 * 60 * MINUTE_MS).map((ms) => -ms),
  ),
  at: moment,
  until: end,
});

/** Clocks of the database that jump ahead while requests of a burst are answered, by up to some days, and are right again much later. */
export const databaseClockJumpsAhead: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("database clock" as const),
  byMs: fc.oneof(duration(MINUTE_MS, 10 * MINUTE_MS), duration(MINUTE_MS, 5 * 24 * 60 * MINUTE_MS)),
  at: moment,
  until: fc.record({ burst: fc.constant(7), afterMs: duration(2 * MINUTE_MS, 30 * MINUTE_MS) }),
});

/** Locks of an account's rows, for longer than a statement may take. */
export function locks(longestMs: number): fc.Arbitrary<Event> {
  return fc.record({
    kind: fc.constant("lock" as const),
    account: fc.nat(3),
    at: fc.record({ burst: fc.nat(7), afterMs: duration(1, 5 * SECOND_MS) }),
    lastsMs: duration(5 * SECOND_MS, longestMs),
  });
}

/** Grants of credit, most of them while requests of a burst are sent. */
export function grants(longestAfterMs: number): fc.Arbitrary<Event> {
  return fc.record({
    kind: fc.constant("grant" as const),
    node,
    account: fc.nat(3),
    nanoUsd: fc.integer({ min: 10, max: 300 }),
    at: fc.record({ burst: fc.nat(7), afterMs: duration(1, longestAfterMs) }),
  });
}

export const revocations: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("revoke" as const),
  node,
  account: fc.nat(3),
  key: fc.nat(3),
  at: moment,
});
