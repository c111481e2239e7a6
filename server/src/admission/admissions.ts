import type { AccountId } from "../accounts/account.ts";
import type { AdmissionStore } from "./admission-store.ts";
import { InFlight, type InFlightItem, NOWHERE } from "./in-flight.ts";
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
  readonly #admitted = new InFlight<Admitted>();
  /** Places are told apart by a number, nodes by what goes before it. */
  readonly #node = crypto.randomUUID();
  #count = 0;

  constructor(store: AdmissionStore) {
    this.#store = store;
  }

  async admit(
    accountId: AccountId,
    version: bigint,
    limits: Limits,
    tokens: number,
  ): Promise<AdmissionOutcome> {
    const place = `${this.#node}-${(++this.#count).toString(36)}` as Place;
    const admission = await this.#store.admit(accountId, version, { limits, tokens, place });
    if (admission.kind !== "admitted") return admission;
    const { rates, atS } = admission;
    const wanted = Math.min(tokens, limits.tokensPerMinute ?? tokens);
    const request = new Admitted(rates, { accountId, place }, (admitted, taken) => {
      if (!this.#admitted.delete(admitted)) return ENDED;
      const tokensMore = taken === null ? 0 : taken - wanted;
      // While the store is away nothing is admitted either; the place is free when its lease has run out.
      return this.#store.release(accountId, { place, atS, tokensMore }).catch(() => {});
    });
    this.#admitted.add(request);
    return { kind: "admitted", request };
  }

  /** Keeps the places of requests that take long. To be called well within {@link PLACE_LEASE_MS}. */
  async renew(): Promise<void> {
    await this.#store.renew([...this.#admitted].map(({ place }) => place));
  }
}

interface AccountPlace {
  readonly accountId: AccountId;
  readonly place: Place;
}

class Admitted implements AdmittedRequest, InFlightItem {
  inFlightAt = NOWHERE;
  readonly rates: Rates;
  readonly place: AccountPlace;
  readonly #end: (admitted: Admitted, tokens: number | null) => Promise<void>;

  constructor(
    rates: Rates,
    place: AccountPlace,
    end: (admitted: Admitted, tokens: number | null) => Promise<void>,
  ) {
    this.rates = rates;
    this.place = place;
    this.#end = end;
  }

  end(tokens: number | null): Promise<void> {
    return this.#end(this, tokens);
  }
}
