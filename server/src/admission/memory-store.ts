import { LRUCache } from "lru-cache";
import type { AccountId } from "../accounts/account.ts";
import type { AdmissionStore, Epoch } from "./admission-store.ts";

const ACCOUNTS_REMEMBERED = 100_000;

/** The admission store of a single node: this process's memory. */
export class MemoryAdmissionStore implements AdmissionStore {
  #forgotten = 0;
  readonly #versions: LRUCache<AccountId, bigint>;

  constructor(accountsRemembered: number = ACCOUNTS_REMEMBERED) {
    this.#versions = new LRUCache({
      max: accountsRemembered,
      // Whoever read the database before this account was dropped can't know what was published for it.
      dispose: (_version, _account, reason) => {
        if (reason === "evict") this.#forgotten++;
      },
    });
  }

  async admit(accountId: AccountId, version: bigint): Promise<"admitted" | "stale"> {
    const published = this.#versions.get(accountId);
    return published !== undefined && version >= published ? "admitted" : "stale";
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    this.#raise(accountId, version);
  }

  async epoch(): Promise<Epoch> {
    return String(this.#forgotten) as Epoch;
  }

  async vouch(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    if (epoch !== (await this.epoch())) return false;
    this.#raise(accountId, version);
    return true;
  }

  onDoubt(): void {
    // Memory that is lost takes the process with it.
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  #raise(accountId: AccountId, version: bigint): void {
    const published = this.#versions.get(accountId);
    if (published === undefined || version > published) this.#versions.set(accountId, version);
  }
}
