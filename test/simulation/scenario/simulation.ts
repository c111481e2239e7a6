import type { AccountId } from "../../../server/src/contract/account.ts";
import type { Actor } from "../../../server/src/contract/action.ts";
import type { AuditEntry } from "../../../server/src/contract/entry.ts";
import { SimulatedDatabase } from "../stores/database.ts";
import { SimulatedRedis } from "../stores/redis.ts";
import { Network } from "../world/network.ts";
import type { WireState } from "../world/wire.ts";
import { World } from "../world/world.ts";
import { type Accounts, Clients, wishesOf } from "./clients.ts";
import type { Attempt, Outcome, Wish } from "./facts.ts";
import type { Violation } from "./invariants.ts";
import { SimulatedNode } from "./node.ts";
import { Pace } from "./pace.ts";
import { Referee } from "./referee.ts";
import type { Rules } from "./rules.ts";
import {
  type Event,
  type Lock,
  lengthOf,
  type Restored,
  type Schedule,
  type StoreName,
  timeOf,
} from "./schedule.ts";
import { simulatedDialect } from "./upstream.ts";
import { whatIsLeft } from "./what-is-left.ts";

/** As `open-database.ts` and `open-admission-store.ts` configure the drivers. */
const STORES = {
  database: { isOrdered: false, timeoutMs: 5_000 },
  redis: { isOrdered: true, timeoutMs: 2_000 },
};
/** Nodes have so long to start before anything else happens. */
const START_MS = 5_000;
const SETTLE_MS = 1_000;
const RESTORING_MS = 400;
/** After a restore nodes start one after the other, so that one serves while another records its journal. */
const START_APART_MS = 4_000;
/** No fault keeps a node from starting for so long. */
const MAX_START_MS = 60 * 60_000;
const MAX_POLL_INTERVAL_MS = 1_000;
/** Nothing must have been running for so long before slots are looked at: what was released may be on its way. */
const AT_REST_MS = 2_500;
/** The journal takes only ids that are UUIDs. */
const NUMBERED_ID = "00000000-0000-7000-8000-00000000000";
const OPERATOR: Actor = { userId: "operator" as Actor["userId"], managementToken: null, sourceIp: null };

export interface Result {
  readonly violation: Violation | null;
  readonly steps: number;
  /** Requests that were answered to their end. */
  readonly answered: number;
  /** Virtual time. */
  readonly tookMs: number;
  readonly trace: readonly string[];
}

/** One run of a schedule. */
export class Simulation {
  readonly #schedule: Schedule;
  readonly #rules: Rules;
  readonly #world: World;
  readonly #network: Network;
  readonly #database: SimulatedDatabase;
  readonly #redis: SimulatedRedis;
  readonly #pace: Pace;
  readonly #nodes: readonly SimulatedNode[];
  readonly #accounts: Accounts;
  readonly #wishes: readonly Wish[];
  readonly #clients: Clients;
  readonly #referee: Referee;
  /** Faults that last, and are not over. */
  #lasting = 0;
  /** By then all nodes must have started. */
  #latestMs = Number.POSITIVE_INFINITY;
  #quietSinceMs = Number.POSITIVE_INFINITY;
  #atRestSinceMs = Number.POSITIVE_INFINITY;
  #slotsLookedAt = false;
  #isOver = false;

  constructor(schedule: Schedule, rules: Rules, isTraced = false) {
    this.#schedule = schedule;
    this.#rules = rules;
    const world = new World(schedule.seed, isTraced);
    this.#world = world;
    this.#network = new Network(world, STORES);
    const database = new SimulatedDatabase(() => world.nowMs, rules.faults);
    const redis = new SimulatedRedis(() => world.nowMs, rules.faults);
    this.#database = database;
    this.#redis = redis;
    this.#pace = new Pace(world);
    this.#accounts = this.#openAccounts();
    this.#wishes = wishesOf(schedule, this.#accounts);
    this.#referee = new Referee({
      world,
      database,
      redis,
      wishes: this.#wishes,
      accounts: this.#accounts.ids,
      maxAtOnce: rules.limits.concurrentRequests ?? Number.POSITIVE_INFINITY,
      maxAMinute: rules.limits.requestsPerMinute ?? Number.POSITIVE_INFINITY,
      isMinuteKept: rules.isMinuteKept,
      answerWithinMs: rules.answerWithinMs,
      invariants: rules.invariants,
    });
    const dialect = simulatedDialect({
      wishOf: (prompt) => this.#wishes[Number(prompt)] ?? unknownWish(prompt),
      asked: (attempt) => {
        attempt.askedMs = world.nowMs;
        this.#referee.asked(attempt);
      },
      answered: (attempt) => {
        attempt.answeredMs = world.nowMs;
        this.#referee.answered(attempt);
      },
    });
    this.#nodes = Array.from({ length: schedule.nodes }, (_, index) => {
      const name = `node ${index + 1}`;
      const onEnded = (attempt: Attempt, outcome: Outcome) => this.#ended(attempt, outcome);
      const onNotStarted = (why: string) => this.#referee.notStarted(why);
      const { pace, network } = { pace: this.#pace, network: this.#network };
      const { faults } = rules;
      const told = { onEnded, onNotStarted };
      return new SimulatedNode({ name, world, pace, network, database, redis, faults, dialect, ...told });
    });
    this.#clients = new Clients({
      world,
      nodes: this.#nodes,
      retriesEarly: rules.retriesEarly,
      onStarted: (attempt) => this.#referee.started(attempt),
    });
  }

  async run(): Promise<Result> {
    const world = this.#world;
    for (const node of this.#nodes) node.start();
    let lastMs = 0;
    for (const wish of this.#wishes) {
      this.#clients.send(wish, START_MS + wish.atMs);
      lastMs = Math.max(lastMs, wish.atMs);
    }
    for (const event of this.#schedule.events) {
      const atMs = timeOf(this.#schedule, event.at);
      if (event.kind === "restored") this.#backUp(event, START_MS + atMs);
      else world.schedule(START_MS + atMs, null, () => this.#begin(event));
      lastMs = Math.max(lastMs, atMs);
    }
    this.#latestMs = START_MS + lastMs + MAX_START_MS;
    world.schedule(START_MS + lastMs + SETTLE_MS, null, () => this.#endFaults());
    await world.run({
      untilMs: Number.POSITIVE_INFINITY,
      isOver: () => this.#isOver || this.#referee.violation !== null,
    });
    const whole = this.#wishes.filter(({ attempts }) =>
      attempts.some(({ outcome }) => outcome?.kind === "whole"),
    );
    return {
      violation: this.#referee.violation,
      steps: world.steps,
      answered: whole.length,
      tookMs: world.nowMs,
      trace: world.trace,
    };
  }

  /** Backs the database up, and restores it later. */
  #backUp({ lostMs, isNoticed }: Restored, atMs: number): void {
    const world = this.#world;
    let restore: ((isNoticed: boolean) => readonly AuditEntry[]) | null = null;
    world.schedule(Math.max(START_MS / 2, atMs - lostMs), null, () => {
      restore = this.#database.credit.backUp();
    });
    world.schedule(atMs, null, () => {
      if (restore === null) return;
      this.#pace.happened();
      // What is on its way is lost with the connections.
      this.#breakWires(this.#nodes, "database", "silent", RESTORING_MS);
      for (const [index, node] of this.#nodes.entries()) node.kill(atMs + (index + 1) * START_APART_MS);
      for (const { accountId, costNanoUsd } of restore(isNoticed))
        this.#referee.released(accountId, costNanoUsd);
      world.note(() => "the database is restored");
    });
  }

  #openAccounts(): Accounts {
    const { accounts, keysEach, limits } = this.#rules;
    const ids = Array.from({ length: accounts }, (_, index) => `${NUMBERED_ID}${index + 1}` as AccountId);
    for (const id of ids) {
      this.#database.keys.addAccount(id, limits);
      this.#database.credit.grant(id, BigInt(this.#schedule.creditNanoUsd));
    }
    const keys = ids.map((id, index) =>
      Array.from({ length: keysEach }, (_, at) => this.#database.keys.addKey(id, `a${index}k${at}`)),
    );
    return { ids, keys };
  }

  #begin(event: Event): void {
    this.#pace.happened();
    const node = this.#nodes[("node" in event ? (event.node ?? 0) : 0) % this.#nodes.length];
    if (node === undefined) return;
    switch (event.kind) {
      case "crash":
        node.crash(event.afterSteps, START_MS + timeOf(this.#schedule, event.backAt));
        break;
      case "restart":
        node.restart();
        break;
      case "freeze":
        this.#world.note(() => `${node.name} stands still`);
        node.freeze(this.#world.nowMs + event.lastsMs);
        if (event.lastsMs >= this.#rules.slotLeaseMs) this.#excuseLimits(event.lastsMs);
        this.#lasts(event.lastsMs, () => {});
        break;
      case "outage": {
        const cutOff = event.node === null ? this.#nodes : [node];
        const lastsMs = lengthOf(this.#schedule, event.at, event.until);
        if (event.store === "redis" && lastsMs >= this.#rules.slotLeaseMs) this.#excuseLimits(lastsMs);
        this.#breakWires(cutOff, event.store, event.how, lastsMs);
        break;
      }
      case "message":
        this.#network.wire(node.name, event.store).faults.add(event);
        break;
      case "emptied":
        this.#redis.empty();
        this.#excuseLimits(event.downMs);
        // What was on its way as it went down does not change the one that comes up.
        this.#world.schedule(event.downMs, null, () => this.#redis.empty());
        this.#breakWires(this.#nodes, "redis", "cut", event.downMs);
        break;
      case "flushed":
        this.#redis.empty();
        this.#excuseLimits(0);
        break;
      case "expired":
        this.#redis.expireVersions();
        this.#referee.versionsExpired();
        break;
      case "full disk":
        this.#world.note(() => `the disk of ${node.name} is full`);
        node.setDiskFull(true);
        this.#lasts(lengthOf(this.#schedule, event.at, event.until), () => node.setDiskFull(false));
        break;
      case "clock":
        node.jumpClock(event.byMs);
        break;
      case "database clock":
        this.#database.jumpClock(event.byMs);
        this.#lasts(lengthOf(this.#schedule, event.at, event.until), () =>
          this.#database.jumpClock(-event.byMs),
        );
        break;
      case "lock":
        this.#lock(event);
        break;
      case "revoke":
        this.#revoke(node, event.account, event.key);
        break;
      case "release":
        this.#release(node);
        break;
      case "grant":
        this.#grant(node, event.account, event.nanoUsd);
        break;
    }
  }

  #breakWires(
    nodes: readonly SimulatedNode[],
    store: StoreName,
    how: Exclude<WireState, "up">,
    lastsMs: number,
  ): void {
    const wires = nodes.map(({ name }) => this.#network.wire(name, store));
    for (const wire of wires) wire.setState(how);
    this.#lasts(lastsMs, () => {
      for (const wire of wires) wire.setState("up");
    });
  }

  /** Something lasts so long, and then ends. */
  #lasts(ms: number, end: () => void): void {
    this.#lasting++;
    this.#world.schedule(ms, null, () => {
      end();
      this.#lasting--;
      this.#pace.happened();
    });
  }

  #release(node: SimulatedNode): void {
    this.#world.note(() => `the credit of ${node.name} is released`);
    const released = this.#database.credit.releaseAll(node.name);
    for (const [accountId, amount] of released) this.#referee.released(accountId, amount);
  }

  #lock({ account, lastsMs }: Lock): void {
    const id = this.#accounts.ids[account % this.#accounts.ids.length];
    if (id === undefined) return;
    const { locked } = this.#database.credit;
    this.#world.note(() => `${id} is locked`);
    locked.push(id);
    this.#lasts(lastsMs, () => {
      locked.splice(locked.indexOf(id), 1);
      this.#referee.unlocked(id);
    });
  }

  /** For as long as a fault lasts, and until what it has made forgotten is known again. */
  #excuseLimits(lastsMs: number): void {
    this.#referee.excuseLimits(this.#world.nowMs + lastsMs + this.#rules.limitsHoldWithinMs);
  }

  #revoke(node: SimulatedNode, account: number, key: number): void {
    const at = account % this.#accounts.ids.length;
    const keys = this.#accounts.keys[at] ?? [];
    const revoked = keys[key % keys.length];
    if (revoked === undefined) return;
    node.perform(async (service) => {
      try {
        await service.keys.revoke(OPERATOR, revoked.accountId, revoked.id);
        this.#referee.revoked(revoked.id);
        this.#world.note(() => `the revocation of ${revoked.id} is answered`);
      } catch {
        // The operator is told that it is not in force yet: nothing follows from that.
      }
    });
  }

  #grant(node: SimulatedNode, account: number, nanoUsd: number): void {
    const id = this.#accounts.ids[account % this.#accounts.ids.length];
    if (id === undefined) return;
    this.#database.credit.grant(id, BigInt(nanoUsd));
    node.perform(async ({ credits }) => credits.forgetShortage(id));
    this.#world.note(() => `the grant of ${nanoUsd} to ${id} is answered`);
  }

  #ended(attempt: Attempt, outcome: Outcome): void {
    attempt.endedMs = this.#world.nowMs;
    attempt.outcome = outcome;
    this.#pace.happened();
    this.#world.note(() => `request ${attempt.wish.index} has ended: ${JSON.stringify(outcome)}`);
    this.#referee.ended(attempt);
    this.#clients.ended(attempt, outcome);
  }

  /** No new faults; those that last come to their ends. */
  #endFaults(): void {
    for (const node of this.#nodes) node.calm();
    if (this.#lasting > 0 || this.#nodes.some(({ service }) => service === null)) {
      if (this.#world.nowMs > this.#latestMs) this.#referee.notDrained("a node does not start");
      this.#world.schedule(MAX_POLL_INTERVAL_MS, null, () => this.#endFaults());
      return;
    }
    this.#network.mend();
    this.#world.note(() => "all faults have ended");
    this.#quietSinceMs = this.#world.nowMs;
    this.#pace.happened();
    this.#lookWhetherOver();
  }

  #lookWhetherOver(): void {
    const { nowMs } = this.#world;
    const { slotsFreeWithinMs, drainWithinMs, invariants } = this.#rules;
    for (const { openAttempts } of this.#nodes) this.#referee.lookAtOpen(openAttempts);
    const isAtRest = this.#clients.waiting === 0;
    this.#atRestSinceMs = isAtRest ? Math.min(this.#atRestSinceMs, nowMs) : Number.POSITIVE_INFINITY;
    const slotsAreDue = nowMs - this.#quietSinceMs >= slotsFreeWithinMs;
    if (!this.#slotsLookedAt && slotsAreDue && nowMs - this.#atRestSinceMs >= AT_REST_MS) {
      this.#slotsLookedAt = true;
      this.#referee.lookAtSlots(this.#quietSinceMs);
    }
    const left = whatIsLeft({
      clients: this.#clients,
      nodes: this.#nodes,
      database: this.#database,
      redis: this.#redis,
      accounts: this.#accounts.ids,
    });
    const isLate = nowMs - this.#quietSinceMs > drainWithinMs;
    if (left !== null && isLate) this.#referee.notDrained(left);
    if (left === null) this.#referee.lookAtEntries();
    this.#isOver = isLate || (left === null && (this.#slotsLookedAt || !invariants.has("slots come free")));
    this.#world.schedule(MAX_POLL_INTERVAL_MS, null, () => this.#lookWhetherOver());
  }
}

function unknownWish(prompt: string): never {
  throw new Error(`nobody has asked ${prompt}`);
}
