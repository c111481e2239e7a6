import type { Account, AccountId, AccountState, IpRules, Plan } from "../contract/account.ts";
import type { Database, Transaction } from "../database/database.ts";

/** The columns of an account, as {@link accountColumns} names them. */
export interface AccountRow {
  account_id: AccountId;
  name: string;
  plan: Plan;
  state: AccountState;
  suspended_at: Date | null;
  suspension_reason: string | null;
  ip_rules: readonly string[];
  ip_rules_mode: IpRules["mode"];
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_requests: number | null;
  account_created_at: Date;
}

/** The columns of `accounts` that {@link accountOf} reads. */
export function accountColumns(sql: Database | Transaction) {
  return sql`
    accounts.id as account_id, accounts.name, accounts.plan, accounts.state, accounts.suspended_at,
    accounts.suspension_reason, accounts.ip_rules, accounts.ip_rules_mode, accounts.requests_per_minute,
    accounts.tokens_per_minute, accounts.concurrent_requests, accounts.created_at as account_created_at`;
}

export function accountOf(row: AccountRow): Account {
  return {
    id: row.account_id,
    name: row.name,
    plan: row.plan,
    state: row.state,
    suspension:
      row.suspended_at === null ? null : { at: row.suspended_at, reason: row.suspension_reason ?? "" },
    ipRules: { mode: row.ip_rules_mode, networks: row.ip_rules },
    limits: {
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      concurrentRequests: row.concurrent_requests,
    },
    createdAt: row.account_created_at,
  };
}
