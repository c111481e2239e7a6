import { CREDIT_OPERATIONS } from "../stores/database.ts";
import { NO_FAULTS } from "../stores/reintroduced-faults.ts";
import {
  blips,
  clockJumps,
  crashes,
  databaseClockJumps,
  databaseClockJumpsAhead,
  emptiedRedis,
  forgetfulRedis,
  freezes,
  fullDisks,
  grants,
  hitMessages,
  locks,
  type Menu,
  outages,
  releases,
  restarts,
  restores,
  revocations,
} from "./arbitrary.ts";
import type { Scenario } from "./check.ts";
import { INVARIANTS, type Invariant } from "./invariants.ts";
import type { Rules } from "./rules.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/**
 * In most scenarios the database or its clients are away for longer than "recorded soon" allows, processes do not start meanwhile, and requests
 * are refused for other reasons than locks.
 */
const ALL = (Object.keys(INVARIANTS) as Invariant[]).filter(
  (name) => name !== "recorded soon" && name !== "starts" && name !== "refused for locks",
);

const RULES: Rules = {
  accounts: 2,
  keysEach: 2,
  limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
  invariants: new Set(ALL),
  faults: NO_FAULTS,
  // Key look-up, admission, a claim and credit, each with a time-out, and the wait for other nodes' credit.
  answerWithinMs: 30 * SECOND_MS,
  slotsFreeWithinMs: 90 * SECOND_MS,
  limitsHoldWithinMs: 20 * SECOND_MS,
  isMinuteKept: false,
  slotLeaseMs: 45 * SECOND_MS,
  // Credit that is not used goes back after ten minutes.
  drainWithinMs: 15 * MINUTE_MS,
  retriesEarly: false,
};

const MENU: Menu = {
  nodes: { min: 1, max: 3 },
  accounts: 1,
  keysEach: 2,
  creditNanoUsd: { min: 50, max: 600 },
  maxBursts: 6,
  maxRequests: 8,
  maxTokens: 60,
  longestEveryMs: SECOND_MS,
  longestGapMs: 30 * SECOND_MS,
  longestAnswerMs: 5 * SECOND_MS,
  keyed: "sometimes",
  events: [],
  minEvents: 1,
  maxEvents: 4,
};

function scenario(
  runs: number,
  menu: Partial<Menu>,
  rules: Partial<Omit<Rules, "invariants">> & { readonly invariants?: readonly Invariant[] } = {},
): Scenario {
  const { invariants = ALL, ...rest } = rules;
  const { accounts, keysEach } = { ...MENU, ...menu };
  return {
    runs,
    menu: { ...MENU, ...menu },
    rules: { ...RULES, accounts, keysEach, ...rest, invariants: new Set(invariants) },
  };
}

/** Long enough for reservations to lapse, and for nodes to believe that they have. */
const LONG_MS = 15 * MINUTE_MS;
const TIGHT = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: 3 };
const RICH = { min: 100_000, max: 100_000 };
const POOR = { min: 40, max: 200 };

const MONEY: readonly Invariant[] = [
  "no overdraft",
  "recorded once",
  "refused for free",
  "key charged once",
  "answered once",
  "balances reconcile",
  "paid for",
  "all drains",
];

/** Whatever does not hold here is a fault of the simulation. */
export const NOTHING_HAPPENS = scenario(
  100,
  { accounts: 2, minEvents: 0, maxEvents: 0, events: [restarts] },
  { limits: { requestsPerMinute: 1_000, tokensPerMinute: null, concurrentRequests: 500 } },
);

export const NODES_DIE = scenario(
  1_000,
  {
    nodes: { min: 2, max: 2 },
    creditNanoUsd: POOR,
    maxRequests: 12,
    longestEveryMs: 200,
    longestGapMs: LONG_MS,
    keyed: "never",
    events: [crashes],
  },
  { invariants: [...MONEY, "refused for reserves"] },
);

export const NODES_ARE_CUT_OFF = scenario(
  300,
  {
    nodes: { min: 2, max: 2 },
    creditNanoUsd: POOR,
    longestGapMs: LONG_MS,
    keyed: "never",
    events: [outages({ store: "database", how: ["cut"], who: "one node" })],
    maxEvents: 2,
  },
  { invariants: [...MONEY, "refused for reserves"] },
);

export const DATABASE_IS_AWAY = scenario(
  1_000,
  {
    nodes: { min: 1, max: 1 },
    creditNanoUsd: POOR,
    longestGapMs: LONG_MS,
    longestAnswerMs: LONG_MS,
    keyed: "never",
    events: [outages({ store: "database", how: ["cut"], who: "all nodes" })],
    maxEvents: 2,
  },
  { invariants: MONEY, drainWithinMs: 30 * MINUTE_MS },
);

const LATE: Partial<Menu> = {
  nodes: { min: 1, max: 2 },
  maxBursts: 8,
  creditNanoUsd: { min: 100, max: 600 },
  longestAnswerMs: 10 * SECOND_MS,
  keyed: "never",
  events: [hitMessages("database", ["request-late"], CREDIT_OPERATIONS)],
  minEvents: 3,
  maxEvents: 8,
};
export const STATEMENTS_ARE_LATE = scenario(400, LATE, { invariants: MONEY });

export const KEYS_AND_CRASHES = scenario(
  300,
  { nodes: { min: 1, max: 2 }, events: [crashes], keyed: "always" },
  { invariants: MONEY },
);

/** A spender of several accounts is closed in parts: nodes die, and statements are lost or late, between two of these. */
export const CLOSES_ARE_INTERRUPTED = scenario(
  200,
  {
    accounts: 3,
    nodes: { min: 1, max: 2 },
    creditNanoUsd: { min: 50, max: 600 },
    keyed: "never",
    events: [
      crashes,
      restarts,
      restarts,
      hitMessages("database", ["request-late", "request-lost", "answer-lost"], ["closeBelow", "ask"]),
    ],
    minEvents: 2,
    maxEvents: 8,
  },
  { invariants: MONEY },
);

/** Shorter than a claim lasts, beside other faults of the database and of processes. */
export const PROCESSES_STAND_STILL = scenario(
  200,
  {
    nodes: { min: 1, max: 2 },
    creditNanoUsd: { min: 50, max: 600 },
    longestAnswerMs: 20 * SECOND_MS,
    events: [
      freezes(30 * SECOND_MS),
      freezes(30 * SECOND_MS),
      crashes,
      restarts,
      hitMessages("database", ["request-late", "answer-late", "answer-lost"]),
    ],
    minEvents: 2,
    maxEvents: 6,
  },
  { invariants: [...MONEY, "revoked at once", "slots come free"] },
);

/** Longer than claims, slots and the time after which a node counts as away. */
export const PROCESSES_STAND_STILL_FOR_LONG = scenario(
  200,
  {
    nodes: { min: 2, max: 3 },
    creditNanoUsd: { min: 50, max: 600 },
    longestGapMs: LONG_MS,
    longestAnswerMs: 2 * MINUTE_MS,
    events: [
      freezes(LONG_MS),
      freezes(LONG_MS),
      crashes,
      revocations,
      emptiedRedis(5 * SECOND_MS),
      outages({ store: "database", how: ["cut", "stalled", "silent"], who: "either" }),
    ],
    minEvents: 2,
    maxEvents: 6,
  },
  {
    limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: 5 },
    drainWithinMs: 40 * MINUTE_MS,
    invariants: [
      ...MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
      "revoked at once",
      "slots come free",
      "requests at once",
    ],
  },
);

/** While the nodes that have reserved it run, are cut off, stand still or are down. */
export const CREDIT_IS_RELEASED = scenario(
  200,
  {
    nodes: { min: 2, max: 3 },
    creditNanoUsd: { min: 50, max: 600 },
    longestGapMs: 2 * MINUTE_MS,
    longestAnswerMs: 30 * SECOND_MS,
    events: [
      releases,
      releases,
      crashes,
      restarts,
      freezes(2 * MINUTE_MS),
      hitMessages("database"),
      outages({ store: "database", how: ["cut", "stalled", "silent"], who: "either" }),
    ],
    minEvents: 2,
    maxEvents: 7,
  },
  {
    drainWithinMs: 30 * MINUTE_MS,
    invariants: MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
  },
);

/** While requests are answered, whose ends can't be written. */
export const DISKS_ARE_FULL = scenario(
  60,
  {
    nodes: { min: 1, max: 2 },
    creditNanoUsd: RICH,
    maxBursts: 6,
    maxRequests: 30,
    longestEveryMs: 200,
    events: [fullDisks, fullDisks, restarts, crashes],
    maxEvents: 4,
  },
  { invariants: [...MONEY, "answered in time"], drainWithinMs: 30 * MINUTE_MS },
);

/** While journals have entries that the database has lost. */
export const DATABASE_IS_RESTORED = scenario(
  200,
  {
    nodes: { min: 2, max: 3 },
    creditNanoUsd: { min: 100, max: 600 },
    maxBursts: 8,
    maxRequests: 40,
    longestEveryMs: 200,
    keyed: "never",
    events: [restores, restores, crashes, restarts],
    minEvents: 2,
    maxEvents: 5,
  },
  {
    invariants: [
      "no overdraft",
      "refused for free",
      "balances reconcile",
      "no more unpaid than lost",
      "all drains",
    ],
  },
);

/** By nodes that were cut off or stood still for longer than their claims last. */
export const KEYS_ARE_ANSWERED_TWICE = scenario(
  200,
  {
    nodes: { min: 2, max: 2 },
    creditNanoUsd: { min: 100, max: 600 },
    maxTokens: 40,
    longestAnswerMs: MINUTE_MS,
    keyed: "always",
    events: [
      freezes(5 * MINUTE_MS),
      outages({ store: "database", how: ["cut", "stalled"], who: "either" }),
      hitMessages("database", ["request-late", "answer-lost"]),
    ],
    minEvents: 2,
    maxEvents: 5,
  },
  {
    drainWithinMs: 60 * MINUTE_MS,
    invariants: MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
  },
);

/** While others are used, and while answers of the database are lost. */
export const ACCOUNTS_ARE_LOCKED = scenario(
  80,
  {
    accounts: 3,
    nodes: { min: 1, max: 2 },
    creditNanoUsd: RICH,
    events: [
      locks(5 * MINUTE_MS),
      locks(5 * MINUTE_MS),
      hitMessages("database", ["answer-lost"], ["insertEntries"]),
    ],
    maxEvents: 3,
  },
  {
    invariants: [
      ...MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
      "recorded soon",
      "answered in time",
    ],
    drainWithinMs: 30 * MINUTE_MS,
  },
);

/** While nodes die, whose journals have entries of these accounts and of others. */
export const NODES_START_BESIDE_LOCKS = scenario(
  80,
  {
    accounts: 3,
    nodes: { min: 1, max: 2 },
    creditNanoUsd: RICH,
    events: [locks(5 * MINUTE_MS), locks(5 * MINUTE_MS), crashes, crashes],
    minEvents: 2,
    maxEvents: 5,
  },
  {
    invariants: [
      ...MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
      "starts",
      "refused for locks",
      "answered in time",
      "all drains",
    ],
    drainWithinMs: 30 * MINUTE_MS,
  },
);

/** While nodes with claims are down, and other nodes are asked for their answers. */
export const DATABASE_CLOCK_IS_WRONG = scenario(
  60,
  {
    nodes: { min: 2, max: 2 },
    maxBursts: 3,
    maxRequests: 3,
    longestGapMs: 5 * SECOND_MS,
    longestAnswerMs: 30 * SECOND_MS,
    keyed: "always",
    events: [
      databaseClockJumps,
      databaseClockJumps,
      crashes,
      crashes,
      freezes(2 * MINUTE_MS),
      hitMessages("database", ["request-late", "answer-lost"], ["claim", "heartbeat"]),
    ],
    minEvents: 2,
    maxEvents: 5,
  },
  {
    drainWithinMs: 30 * MINUTE_MS,
    invariants: [
      ...MONEY.filter((name) => name !== "answered once" && name !== "key charged once"),
      "keys come free",
    ],
  },
);

/** While other nodes are asked for the answers that nodes are giving, some of which die or stand still for a moment. */
export const DATABASE_CLOCK_JUMPS = scenario(
  200,
  {
    nodes: { min: 2, max: 3 },
    maxBursts: 3,
    maxRequests: 3,
    longestGapMs: 5 * SECOND_MS,
    longestAnswerMs: MINUTE_MS,
    keyed: "always",
    events: [
      databaseClockJumpsAhead,
      databaseClockJumpsAhead,
      crashes,
      freezes(20 * SECOND_MS),
      hitMessages("database", ["request-late", "answer-lost"], ["claim", "heartbeat"]),
    ],
    minEvents: 2,
    maxEvents: 5,
  },
  { retriesEarly: true, drainWithinMs: 30 * MINUTE_MS, invariants: [...MONEY, "keys come free"] },
);

export const CREDIT_IS_THERE = scenario(
  300,
  {
    creditNanoUsd: { min: 50, max: 1_000 },
    longestGapMs: LONG_MS,
    events: [
      crashes,
      restarts,
      hitMessages("database", ["request-lost", "answer-lost", "answer-late"]),
      outages({ store: "database", how: ["cut", "stalled"], who: "either" }),
    ],
  },
  { invariants: ["refused for want", "refused for reserves"] },
);

/** While requests of accounts that have spent theirs are refused. */
export const CREDIT_IS_GRANTED = scenario(
  300,
  {
    creditNanoUsd: { min: 10, max: 100 },
    maxRequests: 30,
    longestGapMs: 5 * SECOND_MS,
    longestAnswerMs: SECOND_MS,
    keyed: "never",
    events: [grants(3 * SECOND_MS)],
    maxEvents: 6,
  },
  { invariants: ["refused for want", "refused for reserves", "answered in time", "paid for", "all drains"] },
);

/** Priced requests to a node that knows their keys: beside the model's time only credit has to be waited for. */
export const DATABASE_DOES_NOT_ANSWER = scenario(
  200,
  {
    nodes: { min: 1, max: 1 },
    creditNanoUsd: RICH,
    keyed: "never",
    events: [outages({ store: "database", how: ["cut", "stalled", "silent"], who: "all nodes" })],
  },
  { invariants: ["answered in time"], answerWithinMs: 13 * SECOND_MS },
);

export const REDIS_ANSWERS_ARE_LOST = scenario(
  300,
  {
    creditNanoUsd: RICH,
    events: [
      hitMessages("redis", ["answer-lost", "request-lost", "request-late", "answer-late"]),
      outages({ store: "redis", how: ["cut", "stalled", "silent"], who: "either" }),
    ],
  },
  { invariants: ["slots come free", "requests at once"], limits: TIGHT, slotsFreeWithinMs: 20 * SECOND_MS },
);

export const REDIS_FORGETS = scenario(
  150,
  {
    creditNanoUsd: RICH,
    longestGapMs: MINUTE_MS,
    longestAnswerMs: 5 * MINUTE_MS,
    events: [emptiedRedis(5 * SECOND_MS), outages({ store: "redis", how: ["cut"], who: "either" })],
  },
  { invariants: ["requests at once"], limits: TIGHT, drainWithinMs: 10 * MINUTE_MS },
);

/** While nodes keep on serving requests of an account that has used most of its minute. */
export const REDIS_FORGETS_COUNTS = scenario(
  300,
  {
    creditNanoUsd: RICH,
    maxRequests: 10,
    maxBursts: 8,
    longestGapMs: 20 * SECOND_MS,
    longestAnswerMs: 30 * SECOND_MS,
    events: [emptiedRedis(5 * SECOND_MS)],
    maxEvents: 2,
  },
  {
    invariants: ["requests a minute", "refused for the minute"],
    limits: { requestsPerMinute: 12, tokensPerMinute: null, concurrentRequests: null },
    // Nodes repeat the releases of requests that they have not served every second.
    limitsHoldWithinMs: 3 * SECOND_MS,
    isMinuteKept: true,
  },
);

/** While nodes lose their connections for moments, in which Redis forgets nothing. */
export const REDIS_FORGETS_EPOCHS = scenario(
  300,
  {
    nodes: { min: 2, max: 2 },
    creditNanoUsd: RICH,
    maxRequests: 10,
    maxBursts: 8,
    longestGapMs: 2 * MINUTE_MS,
    longestAnswerMs: 5 * SECOND_MS,
    events: [forgetfulRedis, blips],
    minEvents: 2,
    maxEvents: 5,
  },
  {
    invariants: ["requests a minute", "refused for the minute"],
    limits: { requestsPerMinute: 12, tokensPerMinute: null, concurrentRequests: null },
    limitsHoldWithinMs: 3 * SECOND_MS,
    isMinuteKept: true,
  },
);

/** For longer than a slot's lease, while long answers are given. */
export const REDIS_IS_CUT_OFF = scenario(
  500,
  {
    nodes: { min: 1, max: 2 },
    creditNanoUsd: RICH,
    maxBursts: 8,
    longestGapMs: MINUTE_MS,
    longestAnswerMs: 20 * MINUTE_MS,
    keyed: "never",
    events: [outages({ store: "redis", how: ["cut"], who: "either" })],
    maxEvents: 2,
  },
  { invariants: ["requests at once"], limits: TIGHT, drainWithinMs: 40 * MINUTE_MS },
);

const ANYTHING: readonly Menu["events"][number][] = [
  crashes,
  restarts,
  revocations,
  clockJumps,
  emptiedRedis(5 * SECOND_MS),
  outages({ store: "redis", how: ["cut", "stalled", "silent"], who: "either" }),
  outages({ store: "database", how: ["cut", "stalled", "silent"], who: "either" }),
  hitMessages("redis"),
  hitMessages("database"),
];

export const KEYS_ARE_REVOKED = scenario(
  300,
  {
    creditNanoUsd: RICH,
    longestAnswerMs: SECOND_MS,
    events: [...ANYTHING, revocations, revocations],
    maxEvents: 8,
  },
  { invariants: ["revoked at once"] },
);

/** Everything together. */
export const ANYTHING_HAPPENS = scenario(
  200,
  {
    accounts: 2,
    creditNanoUsd: { min: 50, max: 1_000 },
    longestGapMs: LONG_MS,
    events: ANYTHING,
    maxEvents: 6,
  },
  {
    limits: { requestsPerMinute: 30, tokensPerMinute: null, concurrentRequests: 5 },
    drainWithinMs: 30 * MINUTE_MS,
    invariants: ALL.filter(
      (name) => !["answered once", "key charged once", "requests at once"].includes(name),
    ),
  },
);
