import type { Account } from "../contract/account.ts";
import type { Database, Transaction } from "../database/database.ts";

/** The columns of an account, as {@link accountColumns} names them. */
export interface AccountRow extends Omit<Account, "id" | "createdAt" | "suspension"> {
  readonly accountId: Account["id"];
  readonly accountCreatedAt: Date;
  readonly suspendedAt: Date | null;
  readonly suspensionReason: string | null;
}

/** The columns of an {@link AccountRow}, of `accounts`. */
export function accountColumns(sql: Database | Transaction) {
  return sql`
    accounts.id as "accountId", accounts.name, accounts.plan, accounts.state, accounts.suspended_at as "suspendedAt",
    accounts.suspension_reason as "suspensionReason", accounts.created_at as "accountCreatedAt",
    json_build_object('mode', accounts.ip_rules_mode, 'networks', accounts.ip_rules) as "ipRules",
    json_build_object(
      'requestsPerMinute', accounts.requests_per_minute, 'tokensPerMinute', accounts.tokens_per_minute,
      'concurrentRequests', accounts.concurrent_requests
    ) as limits`;
}

export function accountOf(row: AccountRow): Account {
  const { accountId: id, accountCreatedAt: createdAt, name, plan, state, ipRules, limits } = row;
  const { suspendedAt: at, suspensionReason } = row;
  const suspension = at === null ? null : { at, reason: suspensionReason ?? "" };
  return { id, name, plan, state, suspension, ipRules, limits, createdAt };
}
