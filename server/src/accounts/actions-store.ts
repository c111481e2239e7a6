import { v7 as uuidv7 } from "uuid";
import type { AccountId } from "../contract/account.ts";
import type { Action, ActionId, ActionName, ActionState, NewAction } from "../contract/action.ts";
import type { Database, Transaction } from "../database/database.ts";
import { escapedForLike } from "../database/like-pattern.ts";

/**
 * Records an action in the transaction of its change. A trigger adds it to its chains when the transaction ends. `reason` and `before`
 * are `null` by default.
 */
export async function recordAction(
  transaction: Transaction,
  { reason = null, before = null, ...action }: Omit<NewAction, "reason" | "before"> & Partial<NewAction>,
): Promise<void> {
  const json = (state: ActionState | null) =>
    state === null ? null : transaction.json(state as Parameters<typeof transaction.json>[0]);
  await transaction`
    insert into actions
      (id, at, user_id, management_token, source_ip, account_id, action, reason, before, after)
    values
      (${uuidv7()}, ${action.at}, ${action.by?.userId ?? null}, ${action.by?.managementToken ?? null},
       ${action.by?.sourceIp ?? null}, ${action.accountId}, ${action.action}, ${reason},
       ${json(before)}, ${json(action.after)})`;
}

/** Filters actions. Omitted: every value matches. */
export interface ActionFilter {
  readonly accountId?: AccountId | undefined;
  readonly action?: ActionName | undefined;
  /** The beginning of the author's e-mail address, in any case. */
  readonly author?: string | undefined;
  /** The author's address, or a CIDR block that contains it. */
  readonly source?: string | undefined;
  /** A part of the reason or the beginning of the account's name, in any case. */
  readonly search?: string | undefined;
}

/** Returns actions that match, newest first. */
export async function listActions(
  sql: Database,
  { accountId, action, author, source, search }: ActionFilter,
  before: ActionId | null,
  limit: number,
): Promise<readonly Action[]> {
  const text = escapedForLike((search ?? "").toLowerCase());
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
      ${accountId === undefined ? sql`` : sql`and actions.account_id = ${accountId}`}
      ${action === undefined ? sql`` : sql`and actions.action = ${action}`}
      ${author === undefined ? sql`` : sql`and users.email like ${`${escapedForLike(author.toLowerCase())}%`}`}
      ${source === undefined ? sql`` : sql`and actions.source_ip <<= ${source}::inet`}
      ${
        search === undefined
          ? sql``
          : sql`and (lower(actions.reason) like ${`%${text}%`} or lower(accounts.name) like ${`${text}%`})`
      }
      ${before === null ? sql`` : sql`and actions.id < ${before}`}
    order by actions.id desc
    limit ${limit}`;
}
