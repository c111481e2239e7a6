import { describe, expect, it } from "vitest";
import type { AccountState } from "../../server/src/accounts/account.ts";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import type { ConfirmPublication } from "../../server/src/admission/fenced-store.ts";
import {
  type OtherNode,
  RedisAgreement,
  type RedisNote,
} from "../../server/src/admission/redis-agreement.ts";
import type { RedisServer } from "../../server/src/admission/redis-info.ts";
import {
  Network,
  randomOf,
  SimulatedDatabase,
  SimulatedNode,
  SimulatedRedis,
  settle,
} from "./redis-world.ts";

const NODES = 3;
const SCHEDULES = Number(process.env.OSTIARY_TEST_SIMULATION_RUNS ?? 150);
const STEPS = 500;

interface Answered {
  readonly state: AccountState;
  readonly version: bigint;
}

/** Nodes, their Redis and its replica, and what goes wrong between them, as a seed has it. */
class World {
  readonly random: () => number;
  readonly network: Network;
  readonly database: SimulatedDatabase;
  readonly nodes: SimulatedNode[] = [];
  /** The one that new connections are led to, and its replica, or what was the primary before it. */
  primary = new SimulatedRedis();
  other = new SimulatedRedis();
  /** What nodes were told of their changes; the newest version that was answered counts. */
  answered: Answered = { state: "active", version: 1n };
  readonly wrong: string[] = [];
  admitted = 0;
  /** Nodes whose connections lead to where they did before, whatever the address says. */
  readonly #stuck = new Map<string, SimulatedRedis>();
  readonly #looks = new Map<string, Promise<void>>();
  /** Nodes that have looked since the database's clock went on. */
  readonly #seen = new Set<string>();

  constructor(seed: number) {
    this.random = randomOf(seed);
    this.network = new Network(this.random);
    this.database = new SimulatedDatabase(this.network);
    this.other.isReplica = true;
    for (let index = 0; index < NODES; index++) {
      const id = `node ${index}`;
      const address = () => this.#stuck.get(id) ?? this.primary;
      this.nodes.push(new SimulatedNode(id, this.database, this.network, address));
    }
  }

  /** Whether all nodes admit, by one Redis. */
  get isTogether(): boolean {
    const redis = this.nodes[0]?.store.leadsTo;
    return this.nodes.every((node) => node.admits && node.store.leadsTo === redis);
  }

  async join(): Promise<void> {
    const joining = this.nodes.map((node) => node.agreement.join());
    await this.quiet();
    await Promise.all(joining);
  }

  async quiet(): Promise<void> {
    await settle();
    while (!this.network.isQuiet) await this.network.step();
  }

  /** What the primary knows reaches its replica. */
  replicate(): void {
    if (this.other.isReplica) this.primary.copyTo(this.other);
  }

  /**
   * A failover: the replica becomes the primary; or the address leads back to a primary that lives on, whatever it has
   * missed. Not every connection breaks, and some still lead to the old one.
   */
  failOver(): void {
    // What was not replicated yet is lost.
    if (this.random() < 0.5) this.replicate();
    const old = this.primary;
    this.primary = this.other;
    this.other = old;
    if (this.primary.isReplica) this.primary.promote();
    for (const node of this.nodes) {
      if (this.random() < 0.3) this.#stuck.set(node.id, old);
      if (this.random() < 0.5) node.store.reconnect();
    }
  }

  /** The old primary hears of its demotion. */
  demote(): void {
    if (this.other.isReplica) return;
    this.other.isReplica = true;
    this.other.replicationId = this.primary.replicationId;
    this.primary.copyTo(this.other);
  }

  restart(): void {
    const restarted = this.random() < 0.7 ? this.primary : this.other;
    restarted.restartEmpty();
    for (const { store } of this.nodes) if (store.leadsTo === restarted) store.reconnect();
  }

  unstick(): void {
    const [id] = this.#stuck.keys();
    if (id !== undefined) this.#stuck.delete(id);
  }

  look(node: SimulatedNode): void {
    if (this.#looks.has(node.id)) return;
    const look = node.agreement
      .look()
      .catch(() => {})
      .then(() => {
        this.#looks.delete(node.id);
        this.#seen.add(node.id);
        // Seconds pass for all alike: nobody is so slow that others take it for dead.
        if (this.#seen.size < this.nodes.length) return;
        this.#seen.clear();
        this.database.nowS++;
      });
    this.#looks.set(node.id, look);
  }

  async change(node: SimulatedNode, state: AccountState): Promise<void> {
    const version = await node.change(state);
    if (version !== null && version > this.answered.version) this.answered = { state, version };
  }

  async request(node: SimulatedNode): Promise<void> {
    const before = this.answered;
    if (!(await node.request())) return;
    this.admitted++;
    // Right if nothing was answered that forbids it, or something allows it since.
    const isAllowedSince = this.database.version > before.version;
    if (before.state === "suspended" && !isAllowedSince)
      this.wrong.push(`${node.id} admits after version ${before.version}`);
  }

  /** Whatever comes next. */
  act(): void {
    const node = this.nodes[Math.floor(this.random() * this.nodes.length)];
    if (node === undefined) return;
    const dice = this.random();
    if (dice < 0.5) void this.request(node);
    else if (dice < 0.7) this.look(node);
    else if (dice < 0.8) void this.change(node, this.database.state === "active" ? "suspended" : "active");
    else if (dice < 0.84) void node.sweep();
    else if (dice < 0.88) node.store.reconnect();
    else if (dice < 0.91) this.failOver();
    else if (dice < 0.92) this.demote();
    else if (dice < 0.94) this.restart();
    else if (dice < 0.98) this.unstick();
    else this.replicate();
  }
}

/** A node by itself; the test says what others have noted. */
function nodeAmong(others: () => readonly OtherNode[]) {
  const notes: (RedisNote & { readonly admitted: boolean })[] = [];
  let isFenced = false;
  let reconnections = 0;
  let server: RedisServer | null = { runId: "own", replicationId: "r", isReplica: false };
  let confirm: ConfirmPublication = (publish) => publish();
  const doubters: (() => void)[] = [];
  const redis = {
    connection: 0,
    reconnect: () => {
      reconnections++;
    },
    server: async () => server,
    onDoubt: (listener: () => void) => {
      doubters.push(listener);
    },
    onRestored: () => {},
  };
  const agreement = new RedisAgreement({
    id: "own",
    life: "first",
    notes: {
      noteRedis: async (runId) => ({ runId, generation: 5 }),
      renewOnRedis: async (note) => {
        notes.push({ ...note, admitted: !isFenced });
        return others();
      },
      others: async () => others(),
    },
    redis,
    fence: {
      fence: () => {
        isFenced = true;
      },
      lift: () => {
        isFenced = false;
      },
      confirmPublications: (confirmation) => {
        confirm = confirmation;
      },
    },
    onFenced: () => {},
  });
  return {
    agreement,
    notes,
    admits: () => !isFenced,
    reconnections: () => reconnections,
    publish: () => confirm(async () => {}),
    leadsTo: (to: RedisServer | null) => {
      server = to;
    },
    loseConnection: () => {
      redis.connection++;
      for (const doubt of doubters) doubt();
    },
  };
}

const other = (generation: number, heeds: number | null = generation): OtherNode => ({
  label: "other",
  hasJoined: true,
  redis: { generation, runId: generation === 5 ? "own" : `run ${generation}` },
  heeds,
});

describe("a node among others", () => {
  it("admits when it is alone, and when the others use the same Redis or an older one", async () => {
    for (const others of [[], [other(5)], [other(4)], [other(4), other(5)]]) {
      const node = nodeAmong(() => others);
      expect(node.admits()).toBe(false);
      await node.agreement.join();
      expect(node.admits()).toBe(true);
    }
  });

  it("stops to admit before it says so, and says that it may again before it does", async () => {
    let others = [other(5)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    others = [other(6)];
    await node.agreement.look();
    expect(node.admits()).toBe(false);
    expect(node.notes.at(-1)).toMatchObject({ heeds: 6, generation: 5, admitted: false });
    expect(node.notes.filter(({ heeds, admitted }) => heeds === 6 && admitted)).toEqual([]);
    // It connects again at every look, as long as the other is there.
    expect(node.reconnections()).toBe(1);
    await node.agreement.look();
    expect(node.reconnections()).toBe(2);
    others = [];
    await node.agreement.look();
    expect(node.notes.at(-1)).toMatchObject({ heeds: 5, admitted: false });
    expect(node.admits()).toBe(true);
  });

  it("admits nothing on a new connection until it has noted where that leads", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    const before = node.notes.length;
    node.loseConnection();
    expect(node.admits()).toBe(false);
    await node.agreement.look();
    expect(node.notes.length).toBeGreaterThan(before);
    expect(node.admits()).toBe(true);
  });

  it("does not count a change as published before all others heed its Redis", async () => {
    let others = [other(5)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    await node.publish();
    for (const unheeding of [other(4), other(5, 4), other(6)]) {
      others = [other(5), unheeding];
      await expect(node.publish()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    }
    // One that is too old to tell keeps nobody waiting.
    others = [other(5), other(5, null)];
    await node.publish();
    node.loseConnection();
    await expect(node.publish()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
  });

  it("admits nothing by a replica, and connects again", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.leadsTo({ runId: "own", replicationId: "other", isReplica: true });
    await node.agreement.look();
    expect(node.admits()).toBe(false);
    expect(node.reconnections()).toBe(1);
    expect(node.notes.at(-1)).toMatchObject({ generation: null });
  });

  it("goes on as if all agreed where Redis does not say which one it is", async () => {
    const node = nodeAmong(() => [other(6)]);
    node.leadsTo(null);
    expect(await node.agreement.mayJoin(false)).toBe("may join");
    await node.agreement.join();
    expect(node.admits()).toBe(true);
    expect(node.agreement.isUnknown).toBe(true);
    await node.publish();
  });

  it("joins those who use its Redis, and not those who use another", async () => {
    const joining = (others: readonly OtherNode[], isLastTry = false) =>
      nodeAmong(() => others).agreement.mayJoin(isLastTry);
    expect(await joining([])).toBe("may join");
    expect(await joining([other(5)])).toBe("may join");
    expect(await joining([other(4)])).toBe("elsewhere");
    expect(await joining([other(6)], true)).toBe("elsewhere");
    // Whoever is starting too overrules nobody.
    expect(await joining([{ ...other(6), hasJoined: false }])).toBe("may join");
    const lost = { ...other(5), redis: null };
    expect(await joining([lost])).toBe("waiting");
    expect(await joining([lost], true)).toBe("may join");
  });

  it("tries after a while whether the address still leads there, when another node stays with an older one", async () => {
    const node = nodeAmong(() => [other(4)]);
    await node.agreement.join();
    for (let look = 0; look < 100; look++) await node.agreement.look();
    expect(node.admits()).toBe(true);
    expect(node.reconnections()).toBe(5);
  });
});

describe("nodes that share a Redis, under random failovers, restarts and lost connections", () => {
  it("admit nothing against a change that was answered, and all admit again in the end", {
    timeout: 600_000,
  }, async () => {
    let admitted = 0;
    let suspensions = 0;
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const world = new World(seed);
      await world.join();
      world.database.losesAnswers = () => world.random() < 0.05;
      for (let step = 0; step < STEPS; step++) {
        if (world.network.isQuiet || world.random() < 0.12) {
          world.act();
          await settle();
        } else await world.network.step();
        if (world.answered.state === "suspended") suspensions++;
      }
      world.database.losesAnswers = () => false;
      await world.quiet();
      expect(world.wrong, `seed ${seed}`).toEqual([]);

      // Once every new connection leads to the primary, a few looks bring all together: there, or where they all were.
      for (let number = 0; number < NODES; number++) world.unstick();
      for (let round = 0; round < 60 && !world.isTogether; round++) {
        for (const node of world.nodes) world.look(node);
        await world.quiet();
      }
      expect(world.isTogether, `seed ${seed}`).toBe(true);
      admitted += world.admitted;
    }
    // Otherwise nothing was tried.
    expect(admitted).toBeGreaterThan(SCHEDULES);
    expect(suspensions).toBeGreaterThan(SCHEDULES);
  });
});
