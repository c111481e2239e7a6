import type {
  NodeRecord,
  NodeRecords,
  OtherNode,
  RecordedRedis,
} from "../../server/src/admission/redis-agreement.ts";
import {
  type AccountId,
  type AccountState,
  NO_IP_RULES,
  NO_OVERRIDES,
} from "../../server/src/contract/account.ts";
import type { KeySnapshot, KeyUuid } from "../../server/src/contract/key.ts";
import type { Network } from "./simulated-network.ts";

export const ACCOUNT = "018f3a5e-0000-7000-8000-000000000001" as AccountId;
const LIVE_S = 10;

interface NodeRow {
  seenS: number;
  hasJoined: boolean;
  generation: number | null;
  minGeneration: number;
  sequence: number;
}

/** What the nodes' database holds. Each statement is done in one moment. */
export class SimulatedDatabase implements NodeRecords {
  version = 1n;
  state: AccountState = "active";
  /** Versions that were committed and perhaps not published. */
  pending: bigint | null = null;
  nowS = 0;
  /** Whether the answer to the next renewal is lost. */
  losesAnswers: () => boolean = () => false;
  readonly rows = new Map<string, NodeRow>();
  readonly #network: Network;
  readonly #servers: { readonly runId: string; readonly promotionId: string }[] = [];

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

  recordRedis(runId: string, promotionId: string): Promise<RecordedRedis> {
    return this.#network.ask(() => {
      const isIt = (server: { runId: string; promotionId: string }) =>
        server.runId === runId && (promotionId === "" || server.promotionId === promotionId);
      if (!this.#servers.some(isIt)) this.#servers.push({ runId, promotionId });
      return { runId, generation: this.#servers.findLastIndex(isIt) + 1 };
    });
  }

  renewRecord(record: NodeRecord): Promise<readonly OtherNode[] | null> {
    const effect = () => {
      const row = this.rows.get(record.id);
      if (row === undefined) return null;
      const { generation, minGeneration, sequence, hasJoined } = record;
      if (sequence > row.sequence)
        this.rows.set(record.id, { seenS: this.nowS, hasJoined, generation, minGeneration, sequence });
      return this.#othersOf(record.id);
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
      .map(([label, { hasJoined, generation, minGeneration }]) => {
        const runId = generation === null ? undefined : this.#servers[generation - 1]?.runId;
        const redis = generation === null || runId === undefined ? null : { generation, runId };
        return { label, hasJoined, redis, minGeneration };
      });
  }
}
