import { Access } from "../../server/src/access/access.ts";
import { IpRuleBook } from "../../server/src/access/ip-rules.ts";
import type { AccountId, AccountState } from "../../server/src/accounts/account.ts";
import { NO_IP_RULES, NO_OVERRIDES } from "../../server/src/accounts/account.ts";
import {
  type AdmissionStore,
  AdmissionStoreUnavailable,
  type Epoch,
} from "../../server/src/admission/admission-store.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { FencedAdmissionStore } from "../../server/src/admission/fenced-store.ts";
import { UNLIMITED } from "../../server/src/admission/limits.ts";
import {
  type NotedRedis,
  type OtherNode,
  RedisAgreement,
  type RedisConnection,
  type RedisNote,
  type RedisNotes,
} from "../../server/src/admission/redis-agreement.ts";
import type { RedisServer } from "../../server/src/admission/redis-info.ts";
import type { KeySnapshot, KeyUuid } from "../../server/src/keys/key.ts";
import { KeyMint } from "../../server/src/keys/key-string.ts";

const ACCOUNT = "018f3a5e-0000-7000-8000-000000000001" as AccountId;
const LIVE_S = 10;

/** Random numbers that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What waits to happen, in any order: a question reaching its server, or an answer coming back. */
export class Network {
  readonly #random: () => number;
  readonly #waiting: (() => void)[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  get isQuiet(): boolean {
    return this.#waiting.length === 0;
  }

  later(act: () => void): void {
    this.#waiting.push(act);
  }

  /** Asks a server: the question takes effect at some time, and its answer comes at a later one. */
  ask<Answer>(effect: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.later(() => {
        try {
          const answer = effect();
          this.later(() => resolve(answer));
        } catch (error) {
          this.later(() => reject(error));
        }
      });
    });
  }

  /** Lets one of them happen, and all that follows from it at once. */
  async step(): Promise<void> {
    const [act] = this.#waiting.splice(Math.floor(this.#random() * this.#waiting.length), 1);
    act?.();
    await settle();
  }
}

/** Until nothing goes on that needs no network. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface NodeRow {
  seenS: number;
  hasJoined: boolean;
  generation: number | null;
  heeds: number;
  sequence: number;
}

/** What the nodes' database holds. Each statement is done in one moment. */
export class SimulatedDatabase implements RedisNotes {
  version = 1n;
  state: AccountState = "active";
  /** Versions that were committed and perhaps not published. */
  pending: bigint | null = null;
  nowS = 0;
  /** Whether the answer to the next note is lost. */
  losesAnswers: () => boolean = () => false;
  readonly rows = new Map<string, NodeRow>();
  readonly #network: Network;
  readonly #servers: { readonly runId: string; readonly replicationId: string }[] = [];

  constructor(network: Network) {
    this.#network = network;
  }

  snapshot(): KeySnapshot {
    return {
      key: { id: "key" as KeyUuid, keyId: "abcd", state: "active" },
      account: {
        id: ACCOUNT,
        state: this.state,
        plan: "free",
        ipRules: NO_IP_RULES,
        limits: NO_OVERRIDES,
        version: this.version,
      },
    };
  }

  change(state: AccountState): Promise<bigint> {
    return this.#network.ask(() => {
      this.state = state;
      this.version++;
      this.pending = this.version;
      return this.version;
    });
  }

  isPending(version: bigint): Promise<boolean> {
    return this.#network.ask(() => this.pending !== null && this.pending >= version);
  }

  clear(version: bigint): Promise<void> {
    return this.#network.ask(() => {
      if (this.pending !== null && this.pending <= version) this.pending = null;
    });
  }

  read<Answer>(what: () => Answer): Promise<Answer> {
    return this.#network.ask(what);
  }

  noteRedis(runId: string, replicationId: string): Promise<NotedRedis> {
    return this.#network.ask(() => {
      const isIt = (server: { runId: string; replicationId: string }) =>
        server.runId === runId && server.replicationId === replicationId;
      if (!this.#servers.some(isIt)) this.#servers.push({ runId, replicationId });
      return { runId, generation: this.#servers.findIndex(isIt) + 1 };
    });
  }

  renewOnRedis(note: RedisNote): Promise<readonly OtherNode[] | null> {
    const effect = () => {
      const row = this.rows.get(note.id);
      if (row === undefined) return null;
      const { generation, heeds, sequence, hasJoined } = note;
      if (sequence > row.sequence)
        this.rows.set(note.id, { seenS: this.nowS, hasJoined, generation, heeds, sequence });
      return this.#othersOf(note.id);
    };
    if (!this.losesAnswers()) return this.#network.ask(effect);
    // The node gives the statement up, which is done all the same, some time.
    return new Promise((_, reject) => {
      this.#network.later(effect);
      this.#network.later(() => reject(new Error("the database did not answer in time")));
    });
  }

  others(id: string): Promise<readonly OtherNode[]> {
    return this.#network.ask(() => this.#othersOf(id));
  }

  #othersOf(id: string): readonly OtherNode[] {
    return [...this.rows]
      .filter(([other, row]) => other !== id && row.seenS > this.nowS - LIVE_S)
      .map(([label, { hasJoined, generation, heeds }]) => {
        const runId = generation === null ? undefined : this.#servers[generation - 1]?.runId;
        const redis = generation === null || runId === undefined ? null : { generation, runId };
        return { label, hasJoined, redis, heeds };
      });
  }
}

/** A Redis of which one account is known, or none. */
export class SimulatedRedis {
  runId = crypto.randomUUID();
  replicationId = crypto.randomUUID();
  isReplica = false;
  version: bigint | null = null;
  epoch: string | null = null;

  /** What a replica has of it. */
  copyTo(other: SimulatedRedis): void {
    other.version = this.version;
    other.epoch = this.epoch;
  }

  promote(): void {
    this.isReplica = false;
    this.replicationId = crypto.randomUUID();
  }

  restartEmpty(): void {
    this.runId = crypto.randomUUID();
    this.replicationId = crypto.randomUUID();
    this.version = null;
    this.epoch = null;
  }

  raise(version: bigint): void {
    if (this.version === null || version > this.version) this.version = version;
  }
}

/** A node's connection to a Redis: the scripts, as far as versions go. */
class SimulatedStore implements AdmissionStore, RedisConnection {
  connection = 0;
  #server: SimulatedRedis | null = null;
  readonly #network: Network;
  readonly #address: () => SimulatedRedis;
  readonly #doubters: (() => void)[] = [];
  readonly #restored: (() => void)[] = [];
  readonly #lost: (() => void)[] = [];

  constructor(network: Network, address: () => SimulatedRedis) {
    this.#network = network;
    this.#address = address;
    this.#server = address();
  }

  get leadsTo(): SimulatedRedis | null {
    return this.#server;
  }

  /** The connection breaks, and another one is made some time later. What was sent may arrive all the same. */
  reconnect(): void {
    if (this.#server === null) return;
    this.#server = null;
    this.connection++;
    for (const doubt of this.#doubters) doubt();
    for (const lose of this.#lost.splice(0)) lose();
    this.#network.later(() => {
      this.#server = this.#address();
      for (const listener of this.#restored) listener();
    });
  }

  server(): Promise<RedisServer> {
    return this.#ask(({ runId, replicationId, isReplica }) => ({ runId, replicationId, isReplica }));
  }

  check(_account: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#script((redis) =>
      redis.version !== null && version >= redis.version ? "current" : "stale",
    );
  }

  publish(_account: AccountId, version: bigint): Promise<void> {
    return this.#script((redis) => {
      if (redis.version === null) redis.epoch = crypto.randomUUID();
      else redis.raise(version);
    });
  }

  epoch(): Promise<Epoch> {
    return this.#script((redis) => {
      redis.epoch ??= crypto.randomUUID();
      return redis.epoch as Epoch;
    });
  }

  vouch(_account: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    return this.#script((redis) => {
      if (redis.epoch !== epoch) return false;
      redis.raise(version);
      return true;
    });
  }

  admit(): never {
    throw new Error("limits are not simulated here");
  }

  useOf(): never {
    throw new Error("limits are not simulated here");
  }

  async release(): Promise<void> {}

  async renew(): Promise<void> {}

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  onDoubt(listener: () => void): void {
    this.#doubters.push(listener);
  }

  onRestored(listener: () => void): void {
    this.#restored.push(listener);
  }

  #script<Answer>(effect: (redis: SimulatedRedis) => Answer): Promise<Answer> {
    return this.#ask((redis) => {
      if (redis.isReplica) throw new AdmissionStoreUnavailable("a replica", { mayBeDone: false });
      return effect(redis);
    });
  }

  #ask<Answer>(effect: (redis: SimulatedRedis) => Answer): Promise<Answer> {
    const server = this.#server;
    if (server === null) return Promise.reject(new AdmissionStoreUnavailable("away", { mayBeDone: false }));
    return new Promise((resolve, reject) => {
      this.#lost.push(() => reject(new AdmissionStoreUnavailable("lost")));
      this.#network.ask(() => effect(server)).then(resolve, reject);
    });
  }
}

/** A node as it runs: access, fence and agreement are the real ones. */
export class SimulatedNode {
  readonly id: string;
  readonly store: SimulatedStore;
  readonly agreement: RedisAgreement;
  readonly #database: SimulatedDatabase;
  readonly #fenced: FencedAdmissionStore;
  readonly #access: Access;
  readonly #authorization: readonly string[];

  constructor(id: string, database: SimulatedDatabase, network: Network, address: () => SimulatedRedis) {
    this.id = id;
    this.#database = database;
    this.store = new SimulatedStore(network, address);
    this.#fenced = new FencedAdmissionStore(this.store);
    database.rows.set(id, {
      seenS: database.nowS,
      hasJoined: false,
      generation: null,
      heeds: 0,
      sequence: 0,
    });
    this.agreement = new RedisAgreement({
      id,
      life: id,
      notes: database,
      redis: this.store,
      fence: this.#fenced,
      onFenced: () => {},
    });
    const mint = new KeyMint(new Uint8Array(32));
    this.#authorization = [`Bearer ${mint.mint()}`];
    this.#access = new Access({
      lookup: {
        findKeyByDigest: () => database.read(() => database.snapshot()),
        findDigest: async () => null,
      },
      admission: this.#fenced,
      admissions: new Admissions(this.#fenced),
      limitsOf: () => UNLIMITED,
      recogniser: mint,
      ipRules: new IpRuleBook(),
    });
  }

  get admits(): boolean {
    return !this.#fenced.isFenced;
  }

  /** @returns whether the request was let through. */
  async request(): Promise<boolean> {
    try {
      const caller = await this.#access.authenticate(this.#authorization);
      await this.#access.authorize(caller, null);
      return true;
    } catch {
      return false;
    }
  }

  /** Changes the account's state. @returns the version, once the change is answered; `null` when it is not in force. */
  async change(state: AccountState): Promise<bigint | null> {
    const version = await this.#database.change(state);
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        await this.#fenced.publish(ACCOUNT, version);
        await this.#database.clear(version);
        return version;
      } catch {
        if (!(await this.#database.isPending(version))) return version;
      }
    }
    return null;
  }

  /** Publishes what is left over. */
  async sweep(): Promise<void> {
    const version = await this.#database.read(() => this.#database.pending);
    if (version === null) return;
    try {
      await this.#fenced.publish(ACCOUNT, version);
      await this.#database.clear(version);
    } catch {
      // The next sweep tries again.
    }
  }
}
