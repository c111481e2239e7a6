import type { AccountState } from "../../server/src/contract/account.ts";
import { SimulatedDatabase } from "./simulated-database.ts";
import { Network, randomOf, settle } from "./simulated-network.ts";
import { SimulatedNode } from "./simulated-node.ts";
import { SimulatedRedis } from "./simulated-redis.ts";

export const NODES = 3;

interface Answered {
  readonly state: AccountState;
  readonly version: bigint;
}

/** Nodes, their Redis and its replica, and what goes wrong between them, as a seed has it. */
export class SimulatedCluster {
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
  readonly #checking = new Map<string, Promise<void>>();
  /** Nodes that have checked since the database's clock went on. */
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
    this.other.promotionId = this.primary.promotionId;
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

  check(node: SimulatedNode): void {
    if (this.#checking.has(node.id)) return;
    const checking = node.agreement
      .check()
      .catch(() => {})
      .then(() => {
        this.#checking.delete(node.id);
        this.#seen.add(node.id);
        // Time passes alike for all nodes: none is so slow that others take it for dead.
        if (this.#seen.size < this.nodes.length) return;
        this.#seen.clear();
        this.database.nowS++;
      });
    this.#checking.set(node.id, checking);
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
    else if (dice < 0.7) this.check(node);
    else if (dice < 0.8) void this.change(node, this.database.state === "active" ? "suspended" : "active");
    else if (dice < 0.84) void node.sweep();
    else if (dice < 0.88) node.store.reconnect();
    else if (dice < 0.91) this.failOver();
    else if (dice < 0.92) this.demote();
    else if (dice < 0.94) this.restart();
    else if (dice < 0.97) this.unstick();
    else if (dice < 0.98) this.primary.forgetPromotion();
    else this.replicate();
  }
}
