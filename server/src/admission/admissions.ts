import type { AccountId } from "../contract/account.ts";
import type { Admission, HeldSlot, Limits, Rates, Slot } from "../contract/limits.ts";
import { type AdmissionStore, AdmissionStoreUnavailable } from "./admission-store.ts";
import { InFlight, type InFlightItem, NOT_IN_FLIGHT } from "./in-flight.ts";
import { UnreleasedSlots } from "./unreleased.ts";

/** A request that the account's limits have admitted. */
export interface AdmittedRequest {
  readonly rates: Rates;
  /**
   * Releases the concurrency slot and corrects the tokens. Must be called before the last bytes of the answer go out, so that
   * a client that has seen an answer end can send its next request. Repeating it changes nothing.
   *
   * @param tokens the tokens that the request used; `null` keeps the estimate.
   */
  end(tokens: number | null): Promise<void>;
  /** Releases everything, including the request of its minute, because the request will not be served. */
  cancel(): Promise<void>;
}

export type AdmissionOutcome =
  | { readonly kind: "admitted"; readonly request: AdmittedRequest }
  | Exclude<Admission, { kind: "admitted" }>;

const ENDED = Promise.resolve();

/** Admits requests on this node, and renews their concurrency slots while they run. */
export class Admissions {
  readonly #store: AdmissionStore;
  readonly #admitted = new InFlight<Admitted>();
  readonly #unreleased: UnreleasedSlots;
  /** The name of a slot is the name of its node and a number. */
  readonly #node = crypto.randomUUID();
  #count = 0;

  constructor(store: AdmissionStore, monotonicMs: () => number = () => performance.now()) {
    this.#store = store;
    this.#unreleased = new UnreleasedSlots(store, monotonicMs);
    // A store that answers again may be empty, or may have freed the slots while this node was disconnected. It would admit
    // more requests than the limit until the slots are renewed.
    store.onRestored(() => void this.renew().catch(() => {}));
  }

  async admit(
    accountId: AccountId,
    version: bigint,
    limits: Limits,
    tokens: number,
  ): Promise<AdmissionOutcome> {
    const slot = `${this.#node}-${(++this.#count).toString(36)}` as Slot;
    const estimatedTokens = Math.min(tokens, limits.tokensPerMinute ?? tokens);
    let admission: Admission;
    try {
      admission = await this.#store.admit(accountId, version, { limits, tokens, slot });
    } catch (error) {
      // The store may have admitted the request, which will not be served.
      if (!(error instanceof AdmissionStoreUnavailable) || error.mayBeDone) {
        const release = {
          slot,
          atS: null,
          tokensMore: -estimatedTokens,
          isCancelled: true,
          isContested: true,
        };
        this.#unreleased.add(accountId, release);
      }
      throw error;
    }
    if (admission.kind !== "admitted") return admission;
    const { rates, atS } = admission;
    const request = new Admitted(
      rates,
      accountId,
      slot,
      (admitted, tokensMore, isCancelled) => {
        if (!this.#admitted.delete(admitted)) return ENDED;
        const release = { slot, atS, tokensMore, isCancelled, isContested: admitted.isContested };
        return this.#store
          .release(accountId, release)
          .catch(() => this.#unreleased.add(accountId, { ...release, isContested: true }));
      },
      estimatedTokens,
    );
    this.#admitted.add(request);
    return { kind: "admitted", request };
  }

  /**
   * Renews the concurrency slots of running requests, and takes lost ones again. Must be called well within
   * {@link SLOT_LEASE_MS}.
   */
  async renew(): Promise<void> {
    const renewed = [...this.#admitted];
    try {
      await this.#store.renew(renewed);
    } catch (error) {
      // The renewal may still arrive, after the request has ended.
      for (const admitted of renewed) admitted.isContested = true;
      throw error;
    }
  }

  /** Repeats the releases that the store has not confirmed. A background job calls it every second. */
  async retryReleases(): Promise<void> {
    await this.#unreleased.retry();
  }
}

type End = (admitted: Admitted, tokensMore: number, isCancelled: boolean) => Promise<void>;

class Admitted implements AdmittedRequest, InFlightItem, HeldSlot {
  inFlightIndex = NOT_IN_FLIGHT;
  /** Whether an earlier renewal that got no answer may still reach the store. */
  isContested = false;
  readonly rates: Rates;
  readonly accountId: AccountId;
  readonly slot: Slot;
  readonly #end: End;
  readonly #estimatedTokens: number;

  constructor(rates: Rates, accountId: AccountId, slot: Slot, end: End, estimatedTokens: number) {
    this.rates = rates;
    this.accountId = accountId;
    this.slot = slot;
    this.#end = end;
    this.#estimatedTokens = estimatedTokens;
  }

  end(tokens: number | null): Promise<void> {
    return this.#end(this, tokens === null ? 0 : tokens - this.#estimatedTokens, false);
  }

  cancel(): Promise<void> {
    return this.#end(this, -this.#estimatedTokens, true);
  }
}
