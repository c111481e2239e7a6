import { LRUCache } from "lru-cache";
import type { AccountId } from "../contract/account.ts";
import type { Admission, Demand, LimitUse, Release } from "../contract/limits.ts";
import type { AdmissionStore, Epoch } from "./admission-store.ts";
import { MemoryUsage } from "./memory-usage.ts";

const ACCOUNTS_REMEMBERED = 100_000;

interface Remembered {
  readonly version: bigint;
  /** The last publication about this account; 0 when there was none, and the version was read from the database. */
  readonly publication: number;
}

/** The admission store of a single node: this process's memory. */
export class MemoryAdmissionStore implements AdmissionStore {
  #publications = 0;
  /** The latest publication that is not remembered any more. */
  #forgotten = 0;
  readonly #accounts: LRUCache<AccountId, Remembered>;

  readonly #usage: MemoryUsage;

  constructor(
    accountsRemembered: number = ACCOUNTS_REMEMBERED,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#usage = new MemoryUsage(nowMs);
    this.#accounts = new LRUCache({
      max: accountsRemembered,
      // To forget what was only read loses nothing: it can be read again. To forget a publication makes all doubtful
      // who read before it.
      dispose: ({ publication }, _account, reason) => {
        if (reason === "evict") this.#forgotten = Math.max(this.#forgotten, publication);
      },
    });
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#isCurrent(accountId, version) ? "current" : "stale";
  }

  async admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    if (!this.#isCurrent(accountId, version)) return { kind: "stale" };
    return this.#usage.admit(accountId, demand);
  }

  async release(accountId: AccountId, release: Release): Promise<void> {
    this.#usage.release(accountId, release);
  }

  async renew(): Promise<void> {
    // Slots that are lost with this process are slots in its memory.
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    return this.#usage.useOf(accountId);
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    const publication = ++this.#publications;
    const known = this.#accounts.get(accountId);
    if (known === undefined) this.#forgotten = publication;
    else
      this.#accounts.set(accountId, {
        version: version > known.version ? version : known.version,
        publication,
      });
  }

  async epoch(): Promise<Epoch> {
    return String(this.#publications) as Epoch;
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    if (Number(epoch) < this.#forgotten) return false;
    const known = this.#accounts.get(accountId);
    if (known === undefined || version > known.version) {
      this.#accounts.set(accountId, { version, publication: known?.publication ?? 0 });
    }
    return true;
  }

  onInvalidated(): void {
    // Memory that is lost takes the process with it.
  }

  onRestored(): void {
    // It forgets no slots while there is a request to hold one.
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  #isCurrent(accountId: AccountId, version: bigint): boolean {
    const known = this.#accounts.get(accountId);
    return known !== undefined && version >= known.version;
  }
}
