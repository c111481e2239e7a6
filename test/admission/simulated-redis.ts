import {
  type AccountEpoch,
  type AdmissionStore,
  AdmissionStoreUnavailable,
} from "../../server/src/admission/admission-store.ts";
import type { RedisConnection } from "../../server/src/admission/redis-agreement.ts";
import type { RedisServer } from "../../server/src/admission/redis-info.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Network } from "./simulated-network.ts";

/** A Redis of which one account is known, or none. */
export class SimulatedRedis {
  runId = crypto.randomUUID();
  promotionId = "";
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
    this.promotionId = crypto.randomUUID();
  }

  /** As a server does that had no replica for an hour. */
  forgetPromotion(): void {
    if (!this.isReplica) this.promotionId = "";
  }

  restartEmpty(): void {
    this.runId = crypto.randomUUID();
    this.promotionId = "";
    this.version = null;
    this.epoch = null;
  }

  raise(version: bigint): void {
    if (this.version === null || version > this.version) this.version = version;
  }
}

/** A node's connection to a Redis: the scripts, as far as versions go. */
export class SimulatedStore implements AdmissionStore, RedisConnection {
  connection = 0;
  #server: SimulatedRedis | null = null;
  readonly #network: Network;
  readonly #address: () => SimulatedRedis;
  readonly #invalidated: (() => void)[] = [];
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
    for (const listener of this.#invalidated) listener();
    for (const lose of this.#lost.splice(0)) lose();
    this.#network.later(() => {
      this.#server = this.#address();
      for (const listener of this.#restored) listener();
    });
  }

  server(): Promise<RedisServer> {
    return this.#ask(({ runId, promotionId, isReplica }) => ({ runId, promotionId, isReplica }));
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

  epoch(): Promise<AccountEpoch> {
    return this.#script((redis) => {
      redis.epoch ??= crypto.randomUUID();
      return redis.epoch as AccountEpoch;
    });
  }

  commitRead(_account: AccountId, version: bigint, epoch: AccountEpoch): Promise<boolean> {
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

  async release(): Promise<null> {
    return null;
  }

  async renew(): Promise<void> {}

  async recount(): Promise<void> {}

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  onInvalidated(listener: () => void): void {
    this.#invalidated.push(listener);
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
