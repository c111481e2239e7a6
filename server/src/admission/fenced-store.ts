import type { AccountId } from "../contract/account.ts";
import type { Admission, Demand, HeldSlot, LimitUse, Release } from "../contract/limits.ts";
import { type AdmissionStore, AdmissionStoreUnavailable, type Epoch } from "./admission-store.ts";

/** Publishes, and resolves when every node that admits requests is certain to respect the publication. */
export type ConfirmPublication = (publish: () => Promise<void>) => Promise<void>;

/** An admission store with a fence, which keeps the node from admitting requests while it may miss the changes of other nodes. */
export class FencedAdmissionStore implements AdmissionStore {
  readonly #store: AdmissionStore;
  readonly #invalidated: (() => void)[] = [];
  #reason: string | null = null;
  #confirm: ConfirmPublication = (publish) => publish();

  constructor(store: AdmissionStore) {
    this.#store = store;
  }

  /** Refuses every request until the fence is lifted, and invalidates earlier answers. */
  fence(reason: string): void {
    if (this.#reason === null) for (const listener of this.#invalidated) listener();
    this.#reason = reason;
  }

  lift(): void {
    this.#reason = null;
  }

  get isFenced(): boolean {
    return this.#reason !== null;
  }

  /** Sets the function that confirms every later publication with the other nodes. */
  confirmPublications(confirm: ConfirmPublication): void {
    this.#confirm = confirm;
  }

  // Every request calls one of these two. They are not `async`, because an async function that returns a promise takes three
  // turns of the event loop to resolve.

  check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#reason === null ? this.#store.check(accountId, version) : Promise.reject(this.#closed());
  }

  admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    return this.#reason === null
      ? this.#store.admit(accountId, version, demand)
      : Promise.reject(this.#closed());
  }

  release(accountId: AccountId, release: Release): Promise<void> {
    return this.#store.release(accountId, release);
  }

  renew(slots: readonly HeldSlot[]): Promise<void> {
    return this.#store.renew(slots);
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    this.#requireOpen();
    return this.#store.useOf(accountId);
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    return this.#confirm(() => this.#store.publish(accountId, version));
  }

  async epoch(accountId: AccountId): Promise<Epoch> {
    this.#requireOpen();
    return this.#store.epoch(accountId);
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    this.#requireOpen();
    return this.#store.commitRead(accountId, version, epoch);
  }

  onInvalidated(listener: () => void): void {
    this.#invalidated.push(listener);
    this.#store.onInvalidated(listener);
  }

  onRestored(listener: () => void): void {
    this.#store.onRestored(listener);
  }

  async ping(): Promise<void> {
    this.#requireOpen();
    return this.#store.ping();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #requireOpen(): void {
    if (this.#reason !== null) throw this.#closed();
  }

  #closed(): AdmissionStoreUnavailable {
    return new AdmissionStoreUnavailable(this.#reason ?? "", { mayBeDone: false });
  }
}
