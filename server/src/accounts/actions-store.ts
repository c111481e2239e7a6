import { v7 as uuidv7 } from "uuid";
import type { AccountId } from "../contract/account.ts";
import type { Action, ActionId, ActionState, NewAction } from "../contract/action.ts";
import type { Database, Transaction } from "../database/database.ts";

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

/** Returns actions of one account, or of all (`null`), newest first. */
export async function listActions(
  sql: Database,
  accountId: AccountId | null,
  before: ActionId | null,
  limit: number,
): Promise<readonly Action[]> {
  // Walks actions_by_account, or the primary key.
  return sql<Action[]>`
    select actions.id, actions.at,
           case when actions.user_id is not null then json_build_object(
             'userId', actions.user_id, 'managementToken', actions.management_token,
             'sourceIp', host(actions.source_ip)
           ) end as by,
           users.email as "userEmail", actions.by_operator as "byOperator",
           actions.account_id as "accountId", accounts.name as "accountName", actions.action, actions.reason,
           actions.before, actions.after
    from actions
    left join users on users.id = actions.user_id
    left join accounts on accounts.id = actions.account_id
    where true
      ${accountId === null ? sql`` : sql`and actions.account_id = ${accountId}`}
      ${before === null ? sql`` : sql`and actions.id < ${before}`}
    order by actions.id desc
    limit ${limit}`;
}
