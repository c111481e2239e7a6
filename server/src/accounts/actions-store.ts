import { v7 as uuidv7 } from "uuid";
import type { AccountId, UserId } from "../contract/account.ts";
import type { Action, ActionId, ActionName, ActionState, NewAction } from "../contract/action.ts";
import type { TokenUuid } from "../contract/ids.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { ActionChain } from "./action-chain.ts";

/** Records an action in the transaction of its change. A trigger adds it to its chains when the transaction ends. */
export async function recordAction(transaction: Transaction, action: NewAction): Promise<void> {
  const json = (state: ActionState | null) =>
    state === null ? null : transaction.json(state as Parameters<typeof transaction.json>[0]);
  await transaction`
    insert into actions
      (id, at, user_id, management_token, source_ip, account_id, action, reason, before, after)
    values
      (${uuidv7()}, ${action.at}, ${action.by?.userId ?? null}, ${action.by?.managementToken ?? null},
       ${action.by?.sourceIp ?? null}, ${action.accountId}, ${action.action}, ${action.reason},
       ${json(action.before)}, ${json(action.after)})`;
}

interface ActionRow {
  id: ActionId;
  at: Date;
  user_id: UserId | null;
  email: string | null;
  role: "owner" | "operator" | null;
  management_token: TokenUuid | null;
  source_ip: string | null;
  account_id: AccountId | null;
  account_name: string | null;
  action: ActionName;
  reason: string | null;
  before: ActionState | null;
  after: ActionState | null;
}

/** Recorded actions in PostgreSQL. */
export class PostgresActions {
  readonly #database: Database;
  /** The actions as they are chained. */
  readonly chain: ActionChain;

  constructor(database: Database) {
    this.#database = database;
    this.chain = new ActionChain(database);
  }

  /** Records an action that changes nothing else in the database. */
  async record(action: NewAction): Promise<void> {
    await inTransaction(this.#database, (transaction) => recordAction(transaction, action));
  }

  /** Returns actions of one account, or of all (`null`), newest first. */
  async listActions(
    accountId: AccountId | null,
    before: ActionId | null,
    limit: number,
  ): Promise<readonly Action[]> {
    const sql = this.#database;
    // Walks actions_by_account, or the primary key.
    const rows = await sql<ActionRow[]>`
      select actions.id, actions.at, actions.user_id, users.email, users.role, actions.management_token,
             host(actions.source_ip) as source_ip, actions.account_id, accounts.name as account_name,
             actions.action, actions.reason, actions.before, actions.after
      from actions
      left join users on users.id = actions.user_id
      left join accounts on accounts.id = actions.account_id
      where true
        ${accountId === null ? sql`` : sql`and actions.account_id = ${accountId}`}
        ${before === null ? sql`` : sql`and actions.id < ${before}`}
      order by actions.id desc
      limit ${limit}`;
    return rows.map((row) => ({
      id: row.id,
      at: row.at,
      by:
        row.user_id === null
          ? null
          : { userId: row.user_id, managementToken: row.management_token, sourceIp: row.source_ip },
      userEmail: row.email,
      byOperator: row.role === "operator",
      accountId: row.account_id,
      accountName: row.account_name,
      action: row.action,
      reason: row.reason,
      before: row.before,
      after: row.after,
    }));
  }
}
