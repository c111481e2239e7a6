import { Access } from "../../server/src/access/access.ts";
import { IpRuleBook } from "../../server/src/accounts/ip-rules.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { RedisAgreement } from "../../server/src/admission/redis-agreement.ts";
import type { AccountState } from "../../server/src/contract/account.ts";
import { UNLIMITED } from "../../server/src/contract/limits.ts";
import { KeyMint } from "../../server/src/keys/key-string.ts";
import { ACCOUNT, type SimulatedDatabase } from "./simulated-database.ts";
import type { Network } from "./simulated-network.ts";
import { type SimulatedRedis, SimulatedStore } from "./simulated-redis.ts";

/** A node as it runs: access, fence and agreement are the real ones. */
export class SimulatedNode {
  readonly id: string;
  readonly store: SimulatedStore;
  readonly agreement: RedisAgreement;
  readonly #database: SimulatedDatabase;
  readonly #admissions: Admissions;
  readonly #access: Access;
  readonly #authorization: readonly string[];

  constructor(id: string, database: SimulatedDatabase, network: Network, address: () => SimulatedRedis) {
    this.id = id;
    this.#database = database;
    this.store = new SimulatedStore(network, address);
    this.#admissions = new Admissions(this.store);
    database.rows.set(id, {
      seenS: database.nowS,
      hasJoined: false,
      generation: null,
      minGeneration: 0,
      sequence: 0,
    });
    this.agreement = new RedisAgreement({
      id,
      life: id,
      records: database,
      redis: this.store,
      admissions: this.#admissions,
      onFenced: () => {},
    });
    const mint = new KeyMint(new Uint8Array(32));
    this.#authorization = [`Bearer ${mint.mint()}`];
    this.#access = new Access({
      lookup: {
        findKeyByDigest: () => database.read(() => database.snapshot()),
        findDigest: async () => null,
      },
      admissions: this.#admissions,
      limitsOf: () => UNLIMITED,
      mint,
      ipRules: new IpRuleBook(),
    });
  }

  get admits(): boolean {
    return !this.#admissions.isFenced;
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
        await this.#admissions.publish(ACCOUNT, version);
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
      await this.#admissions.publish(ACCOUNT, version);
      await this.#database.clear(version);
    } catch {
      // The next sweep tries again.
    }
  }
}
