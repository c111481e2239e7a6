import type { MessageFate } from "../world/message-fault.ts";
import type { WireState } from "../world/wire.ts";

/** Requests that a client sends one after the other, without waiting for the answers. */
export interface Burst {
  /** Since the burst before began, or since the service has started. */
  readonly gapMs: number;
  /** Nodes, accounts and keys are named by their index; beyond the last it begins again with the first. */
  readonly node: number;
  readonly account: number;
  readonly key: number;
  readonly requests: number;
  readonly everyMs: number;
  /** The most that each answer may have, and so the most that it may cost: a token costs a nano-USD. */
  readonly tokens: number;
  /** How long the model takes over an answer. */
  readonly lastsMs: number;
  readonly isStreamed: boolean;
  /** Whether each request has an idempotency key: then it is sent again until it is answered. */
  readonly isKeyed: boolean;
  /** What else is random about its requests follows from this. */
  readonly seed: number;
}

/** So long after a burst has begun; or before it begins, when negative. */
export interface Moment {
  readonly burst: number;
  readonly afterMs: number;
}

/** The process of a node dies, and is started again. */
export interface Crash {
  readonly kind: "crash";
  readonly node: number;
  readonly at: Moment;
  /** From then on it is woken so often before it dies: mostly a crash hits a process at work. */
  readonly afterSteps: number;
  readonly backAt: Moment;
}

/** A node is told to stop, and is started again: as at an update. */
export interface Restart {
  readonly kind: "restart";
  readonly node: number;
  readonly at: Moment;
}

/** The process of a node stands still for a while, as by SIGSTOP. */
export interface Freeze {
  readonly kind: "freeze";
  readonly node: number;
  readonly at: Moment;
  readonly lastsMs: number;
}

/** What is between a node, or all of them, and a store does not work for a while. */
export interface Outage {
  readonly kind: "outage";
  /** `null`: of all nodes. */
  readonly node: number | null;
  readonly store: StoreName;
  readonly how: Exclude<WireState, "up">;
  readonly at: Moment;
  readonly until: Moment;
}

/** Something happens to a single message. */
export interface HitMessage {
  readonly kind: "message";
  readonly node: number;
  readonly store: StoreName;
  readonly operation: string | null;
  readonly skip: number;
  readonly fate: MessageFate;
  readonly byMs: number;
  readonly at: Moment;
}

/** Redis restarts, and has forgotten everything. */
export interface Emptied {
  readonly kind: "emptied";
  readonly at: Moment;
  readonly downMs: number;
}

/** Redis forgets everything, and goes on. */
export interface Flushed {
  readonly kind: "flushed";
  readonly at: Moment;
}

/** Redis forgets the versions and epochs of accounts, as it does once a day. */
export interface Expired {
  readonly kind: "expired";
  readonly at: Moment;
}

/** A node's wall clock jumps. */
export interface ClockJump {
  readonly kind: "clock";
  readonly node: number;
  readonly byMs: number;
  readonly at: Moment;
}

/** The database's clock jumps, and later back: it was set wrong, or a replica with another clock took the primary's place for a while. */
export interface DatabaseClockJump {
  readonly kind: "database clock";
  readonly byMs: number;
  readonly at: Moment;
  readonly until: Moment;
}

/** The disk of a node is full for a while. */
export interface FullDisk {
  readonly kind: "full disk";
  readonly node: number;
  readonly at: Moment;
  readonly until: Moment;
}

/** Somebody revokes a key, on a node. */
export interface Revocation {
  readonly kind: "revoke";
  readonly node: number;
  readonly account: number;
  readonly key: number;
  readonly at: Moment;
}

/** An operator grants credit, on a node. */
export interface Grant {
  readonly kind: "grant";
  readonly node: number;
  readonly account: number;
  readonly nanoUsd: number;
  readonly at: Moment;
}

/** A transaction locks the rows that an account's entries are recorded in, as a forgotten session of an administrator does. */
export interface Lock {
  readonly kind: "lock";
  readonly account: number;
  readonly at: Moment;
  readonly lastsMs: number;
}

/** An operator releases all credit that a node has reserved, whether or not it runs. */
export interface CreditRelease {
  readonly kind: "release";
  readonly node: number;
  readonly at: Moment;
}

/** The database is restored from a backup, and so all nodes have ended: it has lost what came after that. */
export interface Restored {
  readonly kind: "restored";
  readonly at: Moment;
  readonly lostMs: number;
  /** Whether nodes notice it. Beside an empty Redis they do not. */
  readonly isNoticed: boolean;
}

const MIN_LENGTH_MS = 100;

export type StoreName = "database" | "redis";
export type Fault =
  | Crash
  | Restart
  | Freeze
  | Outage
  | HitMessage
  | Emptied
  | Flushed
  | Expired
  | ClockJump
  | DatabaseClockJump
  | FullDisk
  | Lock
  | Restored;
export type Event = Fault | Revocation | Grant | CreditRelease;

/** All that happens in one run. Whatever else is random follows from the seed. */
export interface Schedule {
  readonly seed: number;
  readonly nodes: number;
  /** What each account has. */
  readonly creditNanoUsd: number;
  readonly bursts: readonly Burst[];
  readonly events: readonly Event[];
}

/** When each burst begins, since the service has started. */
export function burstTimes({ bursts }: Pick<Schedule, "bursts">): readonly number[] {
  let atMs = 0;
  return bursts.map(({ gapMs }) => {
    atMs += gapMs;
    return atMs;
  });
}

/** When something happens, since the service has started. */
export function timeOf(schedule: Pick<Schedule, "bursts">, { burst, afterMs }: Moment): number {
  const times = burstTimes(schedule);
  return Math.max(0, (times[burst % Math.max(1, times.length)] ?? 0) + afterMs);
}

/** How long something lasts: a moment at least. */
export function lengthOf(schedule: Pick<Schedule, "bursts">, from: Moment, until: Moment): number {
  return Math.max(MIN_LENGTH_MS, timeOf(schedule, until) - timeOf(schedule, from));
}

/** A schedule for people to read. */
export function inWords(schedule: Schedule): string {
  const { seed, nodes, creditNanoUsd, bursts, events } = schedule;
  const times = burstTimes(schedule);
  const node = (index: number) => `node ${(index % nodes) + 1}`;
  const told = [
    ...bursts.map((burst, index): readonly [number, string] => {
      const { requests, everyMs, tokens, lastsMs, isKeyed, isStreamed } = burst;
      const kinds = [isStreamed ? "streamed" : "", isKeyed ? "with idempotency keys" : ""].filter(Boolean);
      return [
        times[index] ?? 0,
        `account ${burst.account + 1}: ${requests} requests to ${node(burst.node)}, one every ${everyMs} ms, up to ${tokens} tokens, ${seconds(lastsMs)} each ${kinds.join(", ")}`,
      ];
    }),
    ...events.map((event): readonly [number, string] => [
      timeOf(schedule, event.at),
      eventInWords(schedule, event, node),
    ]),
  ];
  told.sort(([one], [other]) => one - other);
  const head = `seed ${seed}, ${nodes} nodes, credit ${creditNanoUsd} for each account`;
  return [head, ...told.map(([atMs, text]) => `  ${seconds(atMs).padStart(10)}  ${text.trim()}`)].join("\n");
}

function eventInWords(schedule: Schedule, event: Event, node: (index: number) => string): string {
  switch (event.kind) {
    case "crash":
      return `${node(event.node)} dies ${event.afterSteps} steps later, and starts again at ${seconds(timeOf(schedule, event.backAt))}`;
    case "restart":
      return `${node(event.node)} is told to stop, and starts again`;
    case "freeze":
      return `${node(event.node)} stands still for ${seconds(event.lastsMs)}`;
    case "outage": {
      const who = event.node === null ? "all nodes" : node(event.node);
      return `what is between ${who} and the ${event.store} is ${event.how} for ${seconds(lengthOf(schedule, event.at, event.until))}`;
    }
    case "message": {
      const late = event.fate.endsWith("-lost") ? "" : ` by ${seconds(event.byMs)}`;
      const what = event.operation ?? "message";
      return `${node(event.node)}, the ${event.store}: of "${what}", after ${event.skip} others, ${event.fate}${late}`;
    }
    case "full disk":
      return `the disk of ${node(event.node)} is full for ${seconds(lengthOf(schedule, event.at, event.until))}`;
    case "emptied":
      return `redis restarts empty, and is back after ${seconds(event.downMs)}`;
    case "restored":
      return `the nodes are killed, and the database has lost the last ${seconds(event.lostMs)}${event.isNoticed ? "" : ", which no node notices"}`;
    case "flushed":
      return "redis is emptied";
    case "expired":
      return "redis forgets the versions of accounts";
    case "clock":
      return `the wall clock of ${node(event.node)} jumps by ${seconds(event.byMs)}`;
    case "database clock":
      return `the database's clock jumps by ${seconds(event.byMs)}, and back after ${seconds(lengthOf(schedule, event.at, event.until))}`;
    case "lock":
      return `account ${event.account + 1} is locked in the database for ${seconds(event.lastsMs)}`;
    case "revoke":
      return `key ${event.key + 1} of account ${event.account + 1} is revoked on ${node(event.node)}`;
    case "release":
      return `the credit that ${node(event.node)} has reserved is released`;
    case "grant":
      return `account ${event.account + 1} is granted ${event.nanoUsd} on ${node(event.node)}`;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(Math.abs(ms) < 10_000 ? 3 : 1)} s`;
}
