import type { AccountId } from "../contract/account.ts";
import type { Database, Transaction } from "../database/database.ts";
import { withTimeout } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import type { Admissions } from "./admissions.ts";

/**
 * Raises an account's version and records it as unpublished. This locks the account's row, so that changes of one account are
 * made one after the other.
 */
export async function raiseVersion(transaction: Transaction, accountId: AccountId): Promise<bigint> {
  const [row] = await transaction<{ version: bigint }[]>`
    update accounts set version = version + 1 where id = ${accountId} returning version`;
  if (row === undefined) throw new Error("the account does not exist");
  await transaction`
    insert into unpublished_versions (account_id, version) values (${accountId}, ${row.version})
    on conflict (account_id) do update set version = excluded.version`;
  return row.version;
}

/** Committed versions that may not be published yet. Each change records its version in its own transaction. */
export type UnpublishedVersions = ReturnType<typeof unpublishedVersionsIn>;

export function unpublishedVersionsIn(database: Database) {
  return {
    /** Lists versions in order of their accounts, those after `after` first. */
    async list(
      after: AccountId | null,
      limit: number,
    ): Promise<readonly { readonly accountId: AccountId; readonly version: bigint }[]> {
      return database`
        select account_id as "accountId", version from unpublished_versions
        order by account_id > coalesce(${after}::uuid, account_id) desc, account_id limit ${limit}`;
    },
    /** Returns whether this version, or a newer one, still waits for publication. */
    async isPending(accountId: AccountId, version: bigint): Promise<boolean> {
      const rows = await database`
        select from unpublished_versions where account_id = ${accountId} and version >= ${version}`;
      return rows.length > 0;
    },
    /** Deletes the account's versions up to this one. */
    async clear(accountId: AccountId, version: bigint): Promise<void> {
      await database`
        delete from unpublished_versions where account_id = ${accountId} and version <= ${version}`;
    },
  };
}

/** A change that the admission store does not confirm within this time is answered with a failure. */
const PUBLISH_TIMEOUT_MS = 4_000;
const PAUSE_MS = 200;
const SWEPT_AT_ONCE = 1_000;
/** A sweep ends after this number of failures, or with a failure after this time, because the store may be unavailable. */
const MAX_FAILED = 10;
const MAX_FAILING_MS = 2_000;

/**
 * Publishes committed changes to all nodes. A change is answered only after {@link publish} has resolved, when no node admits
 * a request by the state before the change.
 */
export class Publisher {
  readonly #admissions: Pick<Admissions, "publish">;
  readonly #unpublished: UnpublishedVersions;
  readonly #onPublished: (seconds: number) => void;
  #late = 0;
  #waiting = 0;
  /** The account that the last sweep has ended with. */
  #last: AccountId | null = null;

  /** `onPublished` is called with the time that each change took from its commit to its being in force. */
  constructor(
    admissions: Pick<Admissions, "publish">,
    unpublished: UnpublishedVersions,
    onPublished: (seconds: number) => void = () => {},
  ) {
    this.#admissions = admissions;
    this.#unpublished = unpublished;
    this.#onPublished = onPublished;
  }

  /** The number of changes that were answered with a failure, because they were not in force in time. */
  get late(): number {
    return this.#late;
  }

  /** The number of committed changes, of all nodes, that were not in force at the last {@link sweep}. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when the version is in force on all nodes. Waits 4 seconds at most.
   *
   * @throws {Failure} `server_is_overloaded` when it is not in force by then. The change is committed, and is published later.
   */
  async publish(accountId: AccountId, version: bigint): Promise<void> {
    const committedMs = performance.now();
    try {
      await withTimeout(PUBLISH_TIMEOUT_MS, () => this.#publishUntil(accountId, version));
      this.#onPublished((performance.now() - committedMs) / 1_000);
    } catch (cause) {
      this.#late++;
      throw new Failure(
        "server_is_overloaded",
        "The change is saved but not yet in force, because the other nodes cannot be notified at the moment. Repeat the call until it succeeds; repeating it changes nothing else.",
        { retryAfterMs: 2_000, cause },
      );
    }
  }

  async #publishUntil(accountId: AccountId, version: bigint): Promise<void> {
    const deadlineMs = performance.now() + PUBLISH_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#admissions.publish(accountId, version);
        // If this fails, the sweep repeats it.
        await this.#unpublished.clear(accountId, version).catch(() => {});
        return;
      } catch (error) {
        // This node may be disconnected while another node has already published the version.
        if (!(await this.#unpublished.isPending(accountId, version).catch(() => true))) return;
        if (performance.now() + PAUSE_MS > deadlineMs) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /**
   * Publishes versions that this node or a crashed one has left unpublished. The next sweep continues where one has ended: one account's key
   * in Redis, or a part of a cluster, must not keep the versions of others waiting.
   *
   * @returns how many.
   * @throws the first of its failures.
   */
  async sweep(): Promise<number> {
    const startMs = performance.now();
    const waiting = await this.#unpublished.list(this.#last, SWEPT_AT_ONCE);
    this.#waiting = waiting.length;
    const failures: unknown[] = [];
    for (const { accountId, version } of waiting) {
      this.#last = accountId;
      try {
        await this.#admissions.publish(accountId, version);
        await this.#unpublished.clear(accountId, version);
        this.#waiting--;
      } catch (error) {
        failures.push(error);
        if (failures.length === MAX_FAILED || performance.now() - startMs > MAX_FAILING_MS) break;
      }
    }
    if (failures.length > 0) throw failures[0];
    return waiting.length;
  }
}
