import type { AccountId } from "../accounts/account.ts";
import type { AdmissionStore } from "./admission-store.ts";
import type { Limits, Place, Rates } from "./limits.ts";

/** What an account's limits have let through. */
export interface AdmittedRequest {
  readonly rates: Rates;
  /**
   * Gives back what the request took. To be called when it has ended, before its last bytes go out: who has seen one
   * answer end may have the next. Harmless when called again.
   *
   * @param tokens what it took in the end; `null`: what was estimated.
   */
  end(tokens: number | null): Promise<void>;
}

export type AdmissionOutcome =
  | { readonly kind: "admitted"; readonly request: AdmittedRequest }
  | Exclude<Awaited<ReturnType<AdmissionStore["admit"]>>, { kind: "admitted" }>;

const ENDED = Promise.resolve();

/** This node's admitted requests: they keep their places as long as it lives. */
export class Admissions {
  readonly #store: AdmissionStore;
  readonly #places = new Map<Place, AccountId>();

  constructor(store: AdmissionStore) {
    this.#store = store;
  }

  async admit(
    accountId: AccountId,
    version: bigint,
    limits: Limits,
    tokens: number,
  ): Promise<AdmissionOutcome> {
    const place = crypto.randomUUID() as Place;
    const admission = await this.#store.admit(accountId, version, { limits, tokens, place });
    if (admission.kind !== "admitted") return admission;
    this.#places.set(place, accountId);
    const { rates, atS } = admission;
    const end = (taken: number | null): Promise<void> => {
      if (!this.#places.delete(place)) return ENDED;
      const tokensMore = taken === null ? 0 : taken - Math.min(tokens, limits.tokensPerMinute ?? tokens);
      // While the store is away nothing is admitted either; the place is free when its lease has run out.
      return this.#store.release(accountId, { place, atS, tokensMore }).catch(() => {});
    };
    return { kind: "admitted", request: { rates, end } };
  }

  /** Keeps the places of requests that take long. To be called well within {@link PLACE_LEASE_MS}. */
  async renew(): Promise<void> {
    await this.#store.renew([...this.#places].map(([place, accountId]) => ({ accountId, place })));
  }
}
