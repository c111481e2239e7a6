import type { AccountId } from "../contract/account.ts";
import { within } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import type { AdmissionStore } from "./admission-store.ts";

/** Versions that were committed and perhaps not published. Noted in the transaction of each change. */
export interface UnpublishedVersions {
  list(limit: number): Promise<readonly { readonly accountId: AccountId; readonly version: bigint }[]>;
  /** Whether this version, or a newer one, still waits. */
  isPending(accountId: AccountId, version: bigint): Promise<boolean>;
  /** Forgets the account's versions up to this one. */
  clear(accountId: AccountId, version: bigint): Promise<void>;
}

/** Time that a change may wait for the admission store before its answer is that it could not be made known. */
const PUBLISH_TIMEOUT_MS = 4_000;
const PAUSE_MS = 200;
const SWEPT_AT_ONCE = 1_000;

/**
 * Makes committed changes known to all nodes. A change is answered only after {@link publish}: from then on no node
 * admits by what was before it.
 */
export class Publisher {
  readonly #admission: AdmissionStore;
  readonly #unpublished: UnpublishedVersions;

  constructor(admission: AdmissionStore, unpublished: UnpublishedVersions) {
    this.#admission = admission;
    this.#unpublished = unpublished;
  }

  /**
   * @throws {Failure} `server_is_overloaded` when the admission store could not be told: the change is made, and will
   *   be known once the store can be reached again.
   */
  async publish(accountId: AccountId, version: bigint): Promise<void> {
    let cause: unknown;
    try {
      // Also when the store takes longer over each attempt than there is time for all.
      await within(PUBLISH_TIMEOUT_MS, () => this.#publishUntil(accountId, version));
      return;
    } catch (error) {
      cause = error;
    }
    throw new Failure(
      "server_is_overloaded",
      "The change is saved but not yet in force, because the other nodes cannot be notified at the moment. Repeat the call until it succeeds; repeating it changes nothing else.",
      { retryAfterMs: 2_000, cause },
    );
  }

  async #publishUntil(accountId: AccountId, version: bigint): Promise<void> {
    const deadlineMs = performance.now() + PUBLISH_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#admission.publish(accountId, version);
        // The sweep does what is left of this.
        await this.#unpublished.clear(accountId, version).catch(() => {});
        return;
      } catch (error) {
        // This node may be cut off while another one has told the store already.
        if (!(await this.#unpublished.isPending(accountId, version).catch(() => true))) return;
        if (performance.now() + PAUSE_MS > deadlineMs) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** Publishes what was left over, of this node or of one that died. @returns how many. */
  async sweep(): Promise<number> {
    const waiting = await this.#unpublished.list(SWEPT_AT_ONCE);
    for (const { accountId, version } of waiting) {
      await this.#admission.publish(accountId, version);
      await this.#unpublished.clear(accountId, version);
    }
    return waiting.length;
  }
}
