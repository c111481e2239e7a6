import type { AccountId } from "../contract/account.ts";
import { atOneMoment, type Database, LONG_READ_TIMEOUT_MS, type Transaction } from "../database/database.ts";

/** A point in a chain of actions. */
interface ActionPoint {
  /** From 1. */
  readonly position: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

interface ActionChainProblem {
  /** `null` for an action that is not in the chain. */
  readonly position: number | null;
  /**
   * `changed`: the action is not what was recorded. `missing`: there is no action at the position. `added`: an action is not in the
   * chain. `digest_differs`: the chain does not contain the expected point.
   */
  readonly problem: "changed" | "missing" | "added" | "digest_differs";
}

export interface ActionChainReport {
  /** The last action; `null`: none was recorded. */
  readonly head: ActionPoint | null;
  /** The number of actions that this call has verified. */
  readonly actions: number;
  /** The first 100. */
  readonly problems: readonly ActionChainProblem[];
  /** Pass it as `after` to verify the rest; `null`: everything is verified. */
  readonly next: number | null;
}

export interface ActionLines {
  /** JSON, without line breaks, in the order of recording. */
  readonly lines: readonly string[];
  /** Pass it as `after` to continue; `null` at the end. */
  readonly next: number | null;
}

const TRAIL = "00000000-0000-0000-0000-000000000000";
const MAX_VERIFIED = 5_000;
const MAX_PROBLEMS = 100;

/** The chains of actions in PostgreSQL: one for each account, and one (`null`) for all actions. */
export class ActionChain {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
  }

  /** Writes the next actions after a position as lines of an export. */
  async readLines(accountId: AccountId | null, after: number, limit: number): Promise<ActionLines> {
    const sql = this.#database;
    const owner = accountId ?? TRAIL;
    // Walks action_links_pkey.
    const rows = await sql<{ position: bigint; line: string }[]>`
      select link.position,
             '{"action":' || action_text(actions, ${accountId === null}) ||
             ',"about":' || json_build_object(
               'user_email', case when ${accountId === null} or not actions.by_operator then users.email end,
               'account_name', accounts.name) ||
             ',"chain":{"position":' || link.position || ',"digest":"' || encode(link.digest, 'hex') || '"}}' as line
      from action_links link
      join actions on actions.id = link.action
      left join users on users.id = actions.user_id
      left join accounts on accounts.id = actions.account_id
      where link.owner = ${owner} and link.position > ${after}
      order by link.position
      limit ${limit}`;
    const last = rows.at(-1);
    return {
      lines: rows.map(({ line }) => line),
      next: last === undefined || rows.length < limit ? null : Number(last.position),
    };
  }

  /** Verifies some thousand actions after a position. */
  async verify(
    accountId: AccountId | null,
    after: number,
    expected: ActionPoint | null,
  ): Promise<ActionChainReport> {
    const owner = accountId ?? TRAIL;
    return atOneMoment(this.#database, async (sql) => {
      const [chain] = await sql<{ length: bigint; digest: string | null }[]>`
        select length, encode(digest, 'hex') as digest from action_chains where owner = ${owner} and length > 0`;
      const { digest = null } = chain ?? {};
      const length = Number(chain?.length ?? 0n);
      const head = digest === null ? null : { position: length, digest };
      const end = Math.max(after, Math.min(length, after + MAX_VERIFIED));
      const problems = [
        ...(after === 0 ? await findAdded(sql, accountId, length) : []),
        ...(expected === null ? [] : await findOther(sql, owner, expected)),
        ...(await findChanged(sql, accountId, after, end)),
      ];
      return {
        head,
        actions: end - after,
        problems: problems.slice(0, MAX_PROBLEMS),
        next: end < length ? end : null,
      };
    });
  }
}

/** Finds actions that are not in their chain. Its positions begin with 1: no digest covers a link before that, or after the end. */
async function findAdded(
  sql: Transaction,
  accountId: AccountId | null,
  length: number,
): Promise<readonly ActionChainProblem[]> {
  const rows = await sql<{ position: bigint | null }[]>`
    select null::bigint as position from actions
    where ${accountId === null ? sql`true` : sql`account_id = ${accountId}`}
      and not exists (select from action_links where action = actions.id and owner = ${accountId ?? TRAIL})
    union all
    select position from action_links where owner = ${accountId ?? TRAIL} and position not between 1 and ${length}
    limit ${MAX_PROBLEMS}`;
  return rows.map(({ position }) => ({
    position: position === null ? null : Number(position),
    problem: "added",
  }));
}

async function findOther(
  sql: Transaction,
  owner: string,
  { position, digest }: ActionPoint,
): Promise<readonly ActionChainProblem[]> {
  const [found] = await sql`
    select from action_links
    where owner = ${owner} and position = ${position} and encode(digest, 'hex') = ${digest}`;
  return found === undefined ? [{ position, problem: "digest_differs" }] : [];
}

/** Finds positions whose action is missing or differs from what the chain's digests cover. */
async function findChanged(
  sql: Transaction,
  accountId: AccountId | null,
  after: number,
  end: number,
): Promise<readonly ActionChainProblem[]> {
  const owner = accountId ?? TRAIL;
  const rows = await sql<{ position: bigint; is_missing: boolean }[]>`
    with links as (
      select position, digest, action, lag(digest) over (order by position) as previous
      from action_links where owner = ${owner} and position between ${after} and ${end}
    )
    select number as position, actions.id is null as is_missing
    from generate_series(${after + 1}::bigint, ${end}::bigint) number
    left join links on links.position = number
    left join actions on actions.id = links.action
    where (links.digest = sha256(
      coalesce(links.previous, '') || sha256(convert_to(action_text(actions, ${accountId === null}), 'UTF8'))
    )) is not true
      or (number = ${end}::bigint and exists (
        select from action_chains where owner = ${owner} and length = number and digest is distinct from links.digest))
    order by number
    limit ${MAX_PROBLEMS}`;
  return rows.map((row) => ({
    position: Number(row.position),
    problem: row.is_missing ? "missing" : "changed",
  }));
}
