import { recordAction } from "../accounts/actions-store.ts";
import type { AccountId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { SpenderId } from "../contract/ids.ts";
import {
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWaits,
  type Transaction,
  violatesForeignKey,
} from "../database/database.ts";
import {
  type Ask,
  type AskAnswer,
  CLOSE_TIMEOUT_MS,
  type CreditStore,
  SpenderGone,
  type SpenderNews,
  type UnseenSpender,
} from "./credit-store.ts";
import { AWAY_MS, type ListedSpender, type ReleasedSpender } from "./spenders.ts";

/** The constraint that a statement with a closed spender violates; see 0010_credit_reserves.sql. */
const SPENDER_REFERENCE = "credit_reserves_spender_fkey";
/** How many accounts a transaction that closes a spender locks: asks and entries of these accounts wait for its end. */
const CLOSED_AT_ONCE = 1_000;
/** How long a transaction that closes or releases a spender waits for a lock. The accounts that it has locked already wait as long. */
const LOCK_TIMEOUT_MS = 1_000;

/** What is recorded of a release. */
interface ReleaseNote {
  readonly reason: string;
  readonly by: Actor | null;
  /** For how long the spender must not have been seen. Absent: it may be in use. */
  readonly unseenMs?: number;
}

/**
 * Credit in Postgres. Every transaction that moves credit begins with the locks of the accounts, in a statement of its
 * own and in the order of ids: the next statement then sees what was committed before, so that each account has one
 * history. The column `wanted` marks a reserve that others reclaim.
 */
export class PostgresCredit implements CreditStore {
  readonly #database: Database;
  readonly #nodeId: string;
  readonly #label: string;
  readonly #closedAtOnce: number;

  /** `label` names this process for operators. */
  constructor(database: Database, nodeId: string, label: string, closedAtOnce = CLOSED_AT_ONCE) {
    this.#database = database;
    this.#nodeId = nodeId;
    this.#label = label;
    this.#closedAtOnce = closedAtOnce;
  }

  async open(): Promise<SpenderId> {
    const [row] = await this.#database<{ id: SpenderId }[]>`
      insert into credit_spenders (node_id, label) values (${this.#nodeId}, ${this.#label}) returning id`;
    if (row === undefined) throw new Error("the database opened no spender");
    return row.id;
  }

  async ask({ accountId, spender, number, targetNanoUsd, extraNanoUsd }: Ask): Promise<AskAnswer> {
    try {
      return await inTransaction(this.#database, async (sql) => {
        await sql`select from accounts where id = ${accountId} for no key update`;
        // By the primary key of credit_reserves, twice.
        const [answer] = await sql<AskAnswer[]>`
          with was as (
            select account.free_nano_usd as free, coalesce(reserve.granted_nano_usd, 0) as granted,
                   coalesce(reserve.charged_nano_usd, 0) as charged, coalesce(reserve.number, 0) as number
            from accounts account
            left join credit_reserves reserve on reserve.account_id = account.id and reserve.spender = ${spender}
            where account.id = ${accountId}
          ),
          now_granted as (
            select granted as was_granted,
                   greatest(charged, least(${targetNanoUsd} + least(${extraNanoUsd}, free / 10), granted + free)) as granted
            from was where number < ${number}
          ),
          reserve as (
            insert into credit_reserves (account_id, spender, granted_nano_usd, number)
            select ${accountId}, ${spender}, granted, ${number} from now_granted
            on conflict (account_id, spender) do update
              set granted_nano_usd = excluded.granted_nano_usd, number = excluded.number, wanted = false
          ),
          moved as (
            update accounts set free_nano_usd = free_nano_usd - (now_granted.granted - now_granted.was_granted)
            from now_granted where accounts.id = ${accountId} and now_granted.granted <> now_granted.was_granted
          ),
          others as (
            select coalesce(sum(granted_nano_usd - charged_nano_usd) filter (where seen_at >= now() - ${AWAY_MS} * interval '1 millisecond'), 0)::bigint as "elsewhereNanoUsd",
                   coalesce(sum(granted_nano_usd - charged_nano_usd) filter (where seen_at < now() - ${AWAY_MS} * interval '1 millisecond'), 0)::bigint as "stuckNanoUsd",
                   (array_agg(jsonb_build_object('id', credit_spenders.id::text, 'unseenMs', round(extract(epoch from now() - seen_at) * 1000)) order by seen_at)
                     filter (where granted_nano_usd > charged_nano_usd))[1] as "leastSeen"
            from credit_reserves join credit_spenders on credit_spenders.id = credit_reserves.spender
            where account_id = ${accountId} and spender <> ${spender}
          ),
          marked as (
            update credit_reserves set wanted = true
            from now_granted
            where account_id = ${accountId} and spender <> ${spender} and not wanted and now_granted.granted < ${targetNanoUsd}
          )
          select coalesce((select granted from now_granted), was.granted) as "grantedNanoUsd", was.charged as "chargedNanoUsd", others.*
          from was, others`;
        return (
          answer ?? {
            grantedNanoUsd: 0n,
            chargedNanoUsd: 0n,
            elsewhereNanoUsd: 0n,
            stuckNanoUsd: 0n,
            leastSeen: null,
          }
        );
      });
    } catch (error) {
      if (violatesForeignKey(error, SPENDER_REFERENCE)) throw new SpenderGone(`spender ${spender} is closed`);
      throw error;
    }
  }

  async heartbeat(spenders: readonly SpenderId[]): Promise<SpenderNews> {
    const ids = this.#database.json(spenders.map(String));
    // If the database's clock was ahead, it counts from here how long a spender has not been seen. Uses credit_reserves_wanted.
    const rows = await this.#database<{ id: SpenderId; account_id: AccountId | null }[]>`
      with seen as (
        update credit_spenders set seen_at = now()
        where id in (select value::bigint from jsonb_array_elements_text(${ids}))
        returning id
      ),
      ahead as (
        update credit_spenders set seen_at = now()
        where id in (
          select id from credit_spenders
          where seen_at > clock_timestamp() and id not in (select value::bigint from jsonb_array_elements_text(${ids}))
          for update skip locked
        )
      )
      select seen.id, wanted.account_id
      from seen left join credit_reserves wanted on wanted.spender = seen.id and wanted.wanted`;
    const found = new Set(rows.map(({ id }) => id));
    return {
      gone: spenders.filter((id) => !found.has(id)),
      reclaimed: rows.flatMap(({ id: spender, account_id: accountId }) =>
        accountId === null ? [] : [{ accountId, spender }],
      ),
    };
  }

  async closeBelow(id: SpenderId): Promise<boolean> {
    const own = await this.#database<{ id: SpenderId }[]>`
      select id from credit_spenders where node_id = ${this.#nodeId} and id < ${id}`;
    let areClosed = true;
    for (const { id: spender } of own) {
      if (!(await this.#closeOwn(spender))) areClosed = false;
    }
    return areClosed;
  }

  /**
   * Frees what a spender of this node has reserved, a part of the accounts after the other, and deletes it. If the process dies between two
   * transactions, its next start closes the rest: nothing is owed by the spender or held of it any more. That isn't known of the spenders
   * of other nodes, which are therefore released in one transaction.
   *
   * @returns `false` if another transaction keeps an account locked, whose reserve is left.
   */
  async #closeOwn(spender: SpenderId): Promise<boolean> {
    try {
      do await this.#freeReserves(spender);
      while (!(await this.#deleteUnlessReserving(spender)));
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return false;
    }
  }

  /** Accounts that are locked come last, each in a transaction of its own: no other account waits with them. */
  async #freeReserves(spender: SpenderId): Promise<void> {
    const accounts = await this.#accountsOf(spender);
    const locked: AccountId[] = [];
    while (accounts.length > 0) {
      const part = accounts.splice(0, this.#closedAtOnce);
      const free = await this.#inShortTransaction(async (sql) => {
        const rows = await sql<{ id: AccountId }[]>`
          select id from accounts where id in (select value::uuid from jsonb_array_elements_text(${sql.json(part)}))
          order by id for no key update skip locked`;
        await freeReserves(
          sql,
          spender,
          rows.map(({ id }) => id),
        );
        return new Set(rows.map(({ id }) => id));
      });
      locked.push(...part.filter((id) => !free.has(id)));
    }
    for (const id of locked) {
      await this.#inShortTransaction(async (sql) => {
        await sql`select from accounts where id = ${id} for no key update`;
        await freeReserves(sql, spender, [id]);
      });
    }
  }

  /** @returns `false` if a late ask has inserted a reserve, which names the spender. */
  async #deleteUnlessReserving(spender: SpenderId): Promise<boolean> {
    try {
      await this.#inShortTransaction((sql) => sql`delete from credit_spenders where id = ${spender}`);
      return true;
    } catch (error) {
      if (!violatesForeignKey(error, SPENDER_REFERENCE)) throw error;
      return false;
    }
  }

  /** The accounts of which the spender has reserved credit, in the order in which they are locked. */
  async #accountsOf(spender: SpenderId): Promise<AccountId[]> {
    // Uses credit_reserves_by_spender.
    const rows = await this.#database<{ id: AccountId }[]>`
      select account_id as id from credit_reserves where spender = ${spender} order by account_id`;
    return rows.map(({ id }) => id);
  }

  /** A transaction that may change many rows, but fails soon if it has to wait for one. */
  #inShortTransaction<Result>(work: (sql: Transaction) => Promise<Result>): Promise<Result> {
    return inTransaction(this.#database.withTimeout(CLOSE_TIMEOUT_MS), async (sql) => {
      await limitLockWaits(sql, LOCK_TIMEOUT_MS);
      return work(sql);
    });
  }

  async listUnseen(unseenMs: number): Promise<readonly UnseenSpender[]> {
    return this.#database<UnseenSpender[]>`
      select id, seen_at as "seenAt" from credit_spenders
      where node_id <> ${this.#nodeId} and seen_at < now() - ${unseenMs} * interval '1 millisecond'`;
  }

  /**
   * Closes a spender whose node will not return, and records it. If the node returns after all, its pending charges are
   * collected as far as the accounts' credit reaches; the rest is recorded as uncollected.
   *
   * @returns `null` if there is no such spender.
   */
  async release(
    spender: SpenderId,
    reason: string,
    by: Actor | null = null,
  ): Promise<ReleasedSpender | null> {
    return this.#release(spender, { reason, by });
  }

  async releaseUnseen(spender: SpenderId, unseenMs: number, reason: string): Promise<boolean> {
    return (await this.#release(spender, { reason, by: null, unseenMs })) !== null;
  }

  /** The spenders of other nodes. */
  async others(): Promise<readonly SpenderId[]> {
    const rows = await this.#database<{ id: SpenderId }[]>`
      select id from credit_spenders where node_id <> ${this.#nodeId} order by id`;
    return rows.map(({ id }) => id);
  }

  async list(): Promise<readonly ListedSpender[]> {
    return this.#database<ListedSpender[]>`
      select spender.id, spender.node_id as "nodeId", spender.label, spender.seen_at as "seenAt",
             spender.seen_at < now() - ${AWAY_MS} * interval '1 millisecond' as "isAway",
             count(reserve.account_id) filter (where granted_nano_usd > charged_nano_usd)::int as accounts,
             coalesce(sum(granted_nano_usd - charged_nano_usd), 0)::bigint as "reservedNanoUsd"
      from credit_spenders spender left join credit_reserves reserve on reserve.spender = spender.id
      group by spender.id order by spender.id`;
  }

  /**
   * Frees what the spender has reserved and deletes it, in one transaction. A reserve that is inserted meanwhile names the spender and makes
   * the deletion fail. The transaction is then repeated, as it is when another one keeps an account locked.
   */
  async #release(spender: SpenderId, note: ReleaseNote): Promise<ReleasedSpender | null> {
    const endMs = performance.now() + CLOSE_TIMEOUT_MS;
    for (;;) {
      try {
        return await this.#inShortTransaction((sql) => releaseSpender(sql, spender, note));
      } catch (error) {
        if (isLockTimeout(error) && performance.now() < endMs) await this.#untilUnlocked(spender);
        else if (!violatesForeignKey(error, SPENDER_REFERENCE)) throw error;
      }
    }
  }

  /** Waits for the first of the spender's accounts that another transaction keeps locked, while no account waits for this node. */
  async #untilUnlocked(spender: SpenderId): Promise<void> {
    const accounts = await this.#accountsOf(spender);
    const unlocked = await this.#database<{ id: AccountId }[]>`
      select id from accounts where id in (select value::uuid from jsonb_array_elements_text(${this.#database.json(accounts)}))
      order by id for no key update skip locked`;
    const free = new Set(unlocked.map(({ id }) => id));
    const locked = accounts.find((id) => !free.has(id));
    if (locked === undefined) return;
    await this.#database.withTimeout(
      CLOSE_TIMEOUT_MS,
    )`select from accounts where id = ${locked} for no key update`;
  }
}

/** Frees what the spender has reserved of some accounts, which the transaction has locked. */
async function freeReserves(
  sql: Transaction,
  spender: SpenderId,
  accounts: readonly AccountId[],
): Promise<void> {
  await sql`
    with gone as (
      delete from credit_reserves
      where spender = ${spender} and account_id in (select value::uuid from jsonb_array_elements_text(${sql.json([...accounts])}))
      returning account_id, granted_nano_usd - charged_nano_usd as amount
    )
    update accounts set free_nano_usd = free_nano_usd + gone.amount
    from gone where accounts.id = gone.account_id and gone.amount > 0`;
}

async function releaseSpender(
  sql: Transaction,
  spender: SpenderId,
  { reason, by, unseenMs }: ReleaseNote,
): Promise<ReleasedSpender | null> {
  // Uses credit_reserves_by_spender.
  await sql`
    select from accounts where id in (select account_id from credit_reserves where spender = ${spender})
    order by id for no key update`;
  if (unseenMs !== undefined) {
    // The node may have returned since it was listed, and then it spends from what it has reserved.
    const unseen = await sql`
      select from credit_spenders
      where id = ${spender} and seen_at < now() - ${unseenMs} * interval '1 millisecond' for update`;
    if (unseen.length === 0) return null;
  }
  const [released = { accounts: 0, amountNanoUsd: 0n }] = await sql<ReleasedSpender[]>`
    with gone as (
      delete from credit_reserves where spender = ${spender}
      returning account_id, granted_nano_usd - charged_nano_usd as amount
    ),
    freed as (
      update accounts set free_nano_usd = free_nano_usd + gone.amount
      from gone where accounts.id = gone.account_id and gone.amount > 0
    ),
    noted as (
      insert into credit_releases (spender, account_id, node_id, label, amount_nano_usd, user_id, reason)
      select credit_spenders.id, gone.account_id, node_id, label, gone.amount, ${by?.userId ?? null}, ${reason}
      from gone, credit_spenders
      where credit_spenders.id = ${spender}
      on conflict do nothing
    )
    select count(*) filter (where amount > 0)::int as accounts, coalesce(sum(amount), 0)::bigint as "amountNanoUsd"
    from gone`;
  const [deleted] = await sql<{ label: string; node_id: string }[]>`
    delete from credit_spenders where id = ${spender} returning label, node_id`;
  if (deleted === undefined) return null;
  await recordAction(sql, {
    at: new Date(),
    by,
    accountId: null,
    action: "credit.release",
    reason,
    before: {
      spender: spender.toString(),
      node: deleted.label,
      accounts: released.accounts,
      reservedNanoUsd: released.amountNanoUsd.toString(),
    },
    after: null,
  });
  return released;
}
