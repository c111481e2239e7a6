import type { AccountId } from "../contract/account.ts";
import {
  ENDED_REMEMBERED_MS,
  type HeldSlot,
  type Limits,
  type LimitUse,
  type Rates,
  type Release,
  type Slot,
} from "../contract/limits.ts";
import { dropOldest } from "../resources/make-room.ts";
import {
  type AccountEpoch,
  type Admission,
  type AdmissionStore,
  AdmissionStoreUnavailable,
} from "./admission-store.ts";
import { InFlight, type InFlightItem, NOT_IN_FLIGHT } from "./in-flight.ts";
import { OwnUse } from "./own-use.ts";

/** A request that the account's limits have admitted. */
export interface AdmittedRequest {
  readonly rates: Rates;
  /**
   * Releases the concurrency slot and corrects the tokens. Must be called before the last bytes of the answer go out, so that
   * a client that has seen an answer end can send its next request. Repeating it changes nothing.
   *
   * @param tokens the tokens that the request used; `null` keeps the estimate.
   * @returns `null` if it is done already.
   */
  end(tokens: number | null): Promise<void> | null;
  /** Releases everything, including the request of its minute, because the request will not be served. `null`: it is done already. */
  cancel(): Promise<void> | null;
}

export type AdmissionOutcome =
  | { readonly kind: "admitted"; readonly request: AdmittedRequest }
  | Exclude<Admission, { kind: "admitted" }>;

/** Publishes, and resolves when every node that admits requests is certain to respect the publication. */
export type ConfirmPublication = (publish: () => Promise<void>) => Promise<void>;

/** A release that the store has not confirmed. Without it, a request that has ended would count against the limits. */
interface Unreleased {
  readonly accountId: AccountId;
  readonly release: Release;
  /** The time after which no command for the slot can still arrive. */
  readonly lapsesMs: number;
}

/** The maximum number of unconfirmed releases. Beyond it, the oldest are dropped. Their slots expire with their leases, like those of a crashed node. */
const MAX_UNRELEASED = 20_000;
const RELEASED_AT_ONCE = 100;
/** The accounts that are counted again at once. More would delay the commands of all clients. */
const RECOUNTED_AT_ONCE = 500;

interface Admitted extends AdmittedRequest, InFlightItem, HeldSlot {
  /** The second of the store's clock in which it was admitted. */
  readonly atS: number;
  /** The account's epoch then; `null`: the store loses nothing while this process runs. */
  readonly epoch: AccountEpoch | null;
  /** Whether an earlier renewal that got no answer may still reach the store. */
  isContested: boolean;
}

/**
 * Admits requests on this node by the admission store, and renews their concurrency slots while they run. A fence keeps the node
 * from admitting requests while it may miss the changes of other nodes.
 *
 * Every method throws {@link AdmissionStoreUnavailable} when the store cannot be reached, or the node is fenced.
 */
export class Admissions {
  readonly #store: AdmissionStore;
  readonly #monotonicMs: () => number;
  readonly #admitted = new InFlight<Admitted>();
  /** The releases that the store has not confirmed, in the order in which they are tried. */
  readonly #unreleased = new Set<Unreleased>();
  readonly #ownUse = new OwnUse();
  /** Accounts whose use the store may have lost, until it is counted again. */
  #uncounted: ReadonlySet<AccountId> = new Set();
  /** The accounts that are being counted again; `null` if none are. */
  #counting: ReadonlySet<AccountId> | null = null;
  readonly #invalidated: (() => void)[] = [];
  #fencedFor: string | null = null;
  #isApart = false;
  #confirm: ConfirmPublication = (publish) => publish();
  #beforeUse: () => void = () => {};
  /** The name of a slot is the name of its node and a number. */
  readonly #node = crypto.randomUUID();
  #count = 0;

  constructor(store: AdmissionStore, monotonicMs: () => number = () => performance.now()) {
    this.#store = store;
    this.#monotonicMs = monotonicMs;
    // A store that answers again may be empty, or may have freed the slots while this node was disconnected. It would admit
    // more requests than the limits until the slots are renewed and the last minute is counted again.
    store.onRestored(() => {
      this.#uncounted = new Set(this.#ownUse.accounts());
      void this.recount();
      void this.renew().catch(() => {});
    });
  }

  /** Refuses every request until the fence is lifted, and invalidates earlier answers. */
  fence(reason: string): void {
    if (this.#fencedFor === null) for (const listener of this.#invalidated) listener();
    this.#fencedFor = reason;
  }

  /** As {@link fence}, because this node uses another store than the other nodes. */
  fenceApart(reason: string): void {
    this.fence(reason);
    // It stays while the node connects again and again, which has reasons of its own.
    this.#isApart = true;
  }

  lift(): void {
    this.#fencedFor = null;
    this.#isApart = false;
  }

  get isFenced(): boolean {
    return this.#fencedFor !== null;
  }

  /** Whether it is fenced because this node uses another store than the other nodes, as far as it could find out. */
  get isApart(): boolean {
    return this.#isApart;
  }

  /**
   * Sets a function that is called before each decision and may fence the node. A process that continues after it was stopped answers the requests
   * that have arrived meanwhile before any of its timers runs.
   */
  beforeUse(look: () => void): void {
    this.#beforeUse = look;
  }

  /** Sets the function that confirms every later publication with the other nodes. */
  confirmPublications(confirm: ConfirmPublication): void {
    this.#confirm = confirm;
  }

  /** Registers a listener that is called when earlier answers are no longer reliable. */
  onInvalidated(listener: () => void): void {
    this.#invalidated.push(listener);
    this.#store.onInvalidated(listener);
  }

  /** As {@link AdmissionStore.check}. */
  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#open().check(accountId, version);
  }

  /** Checks the version, and takes the request, its tokens and a concurrency slot, or nothing. */
  admit(
    accountId: AccountId,
    version: bigint,
    limits: Limits,
    tokens: number,
  ): AdmissionOutcome | Promise<AdmissionOutcome> {
    const slot = `${this.#node}-${(++this.#count).toString(36)}` as Slot;
    const estimatedTokens = Math.min(tokens, limits.tokensPerMinute ?? tokens);
    const admission = this.#open().admit(accountId, version, { limits, tokens, slot });
    if (!(admission instanceof Promise)) return this.#outcomeOf(admission, accountId, slot, estimatedTokens);
    return admission.then(
      (answer) => this.#outcomeOf(answer, accountId, slot, estimatedTokens),
      (error: unknown) => {
        // The store may have admitted the request, which will not be served.
        if (!(error instanceof AdmissionStoreUnavailable) || error.mayBeDone) {
          const { requestsPerMinute, tokensPerMinute } = limits;
          const counted = { requests: requestsPerMinute !== null, tokens: tokensPerMinute !== null };
          const everything = takenBack(counted, -estimatedTokens, true);
          this.#releaseLater(accountId, { slot, atS: null, ...everything, isContested: true });
        }
        throw error;
      },
    );
  }

  #outcomeOf(
    admission: Admission,
    accountId: AccountId,
    slot: Slot,
    estimatedTokens: number,
  ): AdmissionOutcome {
    if (admission.kind !== "admitted") return admission;
    const { rates, atS, epoch } = admission;
    if (epoch !== null && (rates.requests !== null || rates.tokens !== null)) {
      const requests = rates.requests === null ? 0 : 1;
      const ownTokens = rates.tokens === null ? 0 : estimatedTokens;
      this.#ownUse.add(accountId, epoch, { second: atS, requests, tokens: ownTokens });
    }
    const request: Admitted = {
      inFlightIndex: NOT_IN_FLIGHT,
      isContested: false,
      rates,
      accountId,
      slot,
      atS,
      epoch,
      end: (used) => this.#release(request, used === null ? 0 : used - estimatedTokens, false),
      cancel: () => this.#release(request, -estimatedTokens, true),
    };
    this.#admitted.add(request);
    return { kind: "admitted", request };
  }

  /** Ends an admitted request, once. `tokensMore`: what it has used beyond the estimate. */
  #release(request: Admitted, tokensMore: number, isCancelled: boolean): Promise<void> | null {
    if (!this.#admitted.delete(request)) return null;
    const { accountId, slot, atS, epoch, rates, isContested } = request;
    const counted = { requests: rates.requests !== null, tokens: rates.tokens !== null };
    const back = takenBack(counted, tokensMore, isCancelled);
    if (epoch !== null) {
      this.#ownUse.correct(accountId, epoch, {
        second: atS,
        requests: back.isCancelled ? -1 : 0,
        tokens: back.tokensMore,
      });
    }
    const ended = { slot, atS, ...back, isContested };
    const released = this.#store.release(accountId, ended)?.then(
      (second) => {
        if (second !== null && epoch !== null)
          this.#ownUse.add(accountId, epoch, { second, requests: 0, tokens: back.tokensMore });
      },
      () => this.#releaseLater(accountId, { ...ended, isContested: true }),
    );
    return released ?? null;
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

  /**
   * Repeats unconfirmed releases, until all of a batch fail. A background job calls it every second. Calls must not overlap. Those that
   * fail come last the next time: a part of a cluster that does not answer must not keep releases on the other parts waiting.
   */
  async retryReleases(): Promise<void> {
    const nowMs = this.#monotonicMs();
    for (const waiting of this.#unreleased) if (waiting.lapsesMs <= nowMs) this.#unreleased.delete(waiting);
    for (let isAnswered = true; isAnswered && this.#unreleased.size > 0; ) {
      const batch = [...this.#unreleased].slice(0, RELEASED_AT_ONCE);
      const outcomes = await Promise.allSettled(
        batch.map(({ accountId, release }) => this.#store.release(accountId, release)),
      );
      for (const [index, waiting] of batch.entries()) {
        this.#unreleased.delete(waiting);
        if (outcomes[index]?.status === "rejected") this.#unreleased.add(waiting);
      }
      isAnswered = outcomes.some(({ status }) => status === "fulfilled");
    }
  }

  /**
   * Counts again what the store may have lost of the last minute, and was not counted yet. A background job calls it every second, because
   * a store that is connected may fail to answer, or a part of it.
   */
  async recount(): Promise<void> {
    const uncounted = this.#uncounted;
    if (uncounted.size === 0 || this.#counting === uncounted) return;
    this.#counting = uncounted;
    const failed = new Set<AccountId>();
    const accounts = [...uncounted];
    // After another loss it begins again with all accounts.
    while (accounts.length > 0 && this.#uncounted === uncounted) {
      const batch = accounts.splice(0, RECOUNTED_AT_ONCE);
      const outcomes = await Promise.allSettled(batch.map((accountId) => this.#recountOf(accountId)));
      for (const [index, accountId] of batch.entries()) {
        if (outcomes[index]?.status === "rejected") failed.add(accountId);
      }
    }
    if (this.#uncounted === uncounted) this.#uncounted = failed;
    if (this.#counting === uncounted) this.#counting = null;
  }

  /** Returns how much of its limits the account uses. */
  async useOf(accountId: AccountId): Promise<LimitUse> {
    return this.#open().useOf(accountId);
  }

  /** As {@link AdmissionStore.publish}, on a fenced node too. */
  publish(accountId: AccountId, version: bigint): Promise<void> {
    return this.#confirm(() => this.#store.publish(accountId, version));
  }

  /** As {@link AdmissionStore.epoch}. */
  async epoch(accountId: AccountId): Promise<AccountEpoch> {
    return this.#open().epoch(accountId);
  }

  /** As {@link AdmissionStore.commitRead}. */
  async commitRead(accountId: AccountId, version: bigint, epoch: AccountEpoch): Promise<boolean> {
    return this.#open().commitRead(accountId, version, epoch);
  }

  /** Resolves when the store answers and this node admits requests. */
  async ping(): Promise<void> {
    await this.#open().ping();
  }

  async #recountOf(accountId: AccountId): Promise<void> {
    const uses = this.#ownUse.of(accountId);
    await Promise.all(uses.map((use) => this.#store.recount(accountId, { ...use, node: this.#node })));
  }

  /** The store, for a node that is not fenced. */
  #open(): AdmissionStore {
    this.#beforeUse();
    if (this.#fencedFor === null) return this.#store;
    throw new AdmissionStoreUnavailable(this.#fencedFor, { mayBeDone: false });
  }

  #releaseLater(accountId: AccountId, release: Release): void {
    dropOldest(this.#unreleased, MAX_UNRELEASED);
    this.#unreleased.add({ accountId, release, lapsesMs: this.#monotonicMs() + ENDED_REMEMBERED_MS });
  }
}

/**
 * What a release changes of what was counted. A request that came while the account had no limit was not counted: the account may have got one
 * in the same second, and other requests that count.
 */
function takenBack(
  counted: { readonly requests: boolean; readonly tokens: boolean },
  tokensMore: number,
  isCancelled: boolean,
): Pick<Release, "tokensMore" | "isCancelled"> {
  return { tokensMore: counted.tokens ? tokensMore : 0, isCancelled: isCancelled && counted.requests };
}
