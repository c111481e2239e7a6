import { client } from "../../api/client.ts";
import type { ListedAccount, OperatorAction, SecurityEvent } from "../../api/types.ts";
import { type CsvColumn, exportCsv } from "../../components/csv.ts";
import { accountsInput, securityInput, trailInput } from "./queries.ts";
import type { AccountsSearch, SecuritySearch, TrailSearch } from "./search.ts";

const PAGE_SIZE = 200;
const after = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

const ACCOUNT: readonly CsvColumn<ListedAccount>[] = [
  { name: "id", read: ({ id }) => id },
  { name: "name", read: ({ name }) => name },
  { name: "users", read: ({ users }) => users.map(({ email }) => email).join(" ") },
  { name: "plan", read: ({ plan }) => plan },
  { name: "state", read: ({ state }) => state },
  { name: "active_keys", read: ({ activeKeys }) => activeKeys },
  { name: "balance_nano_usd", read: ({ balanceNanoUsd }) => balanceNanoUsd },
  { name: "requests_30_days", read: ({ recentRequests }) => recentRequests },
  { name: "cost_30_days_nano_usd", read: ({ recentCostNanoUsd }) => recentCostNanoUsd },
  { name: "last_request_hour", read: ({ lastRequestHour }) => lastRequestHour },
  { name: "created_at", read: ({ createdAt }) => createdAt },
];

/** Downloads the accounts that match; if they are ordered by usage, the first 200. */
export function exportAccounts(search: AccountsSearch): Promise<void> {
  return exportCsv("accounts", ACCOUNT, async (cursor) => {
    const input = { ...accountsInput(search), limit: PAGE_SIZE, ...after(cursor) };
    const { accounts, nextCursor } = await client.operator.accounts.list.query(input);
    return { rows: accounts, next: nextCursor };
  });
}

const ACTION: readonly CsvColumn<OperatorAction>[] = [
  { name: "id", read: ({ id }) => id },
  { name: "at", read: ({ at }) => at },
  { name: "action", read: ({ action }) => action },
  { name: "account_id", read: ({ accountId }) => accountId },
  { name: "account_name", read: ({ accountName }) => accountName },
  { name: "author", read: ({ userEmail }) => userEmail },
  { name: "source_ip", read: ({ by }) => by?.sourceIp ?? null },
  { name: "reason", read: ({ reason }) => reason },
  { name: "before", read: ({ before }) => (before === null ? null : JSON.stringify(before)) },
  { name: "after", read: (action) => (action.after === null ? null : JSON.stringify(action.after)) },
];

/** Downloads the changes that match. */
export function exportTrail(search: TrailSearch): Promise<void> {
  return exportCsv("audit-trail", ACTION, async (cursor) => {
    const input = { ...trailInput(search), limit: PAGE_SIZE, ...after(cursor) };
    const { actions, nextCursor } = await client.operator.audit.query(input);
    return { rows: actions, next: nextCursor };
  });
}

const EVENT: readonly CsvColumn<SecurityEvent>[] = [
  { name: "id", read: ({ id }) => id },
  { name: "kind", read: ({ kind }) => kind },
  { name: "count", read: ({ count }) => count },
  { name: "first_at", read: ({ firstAt }) => firstAt },
  { name: "last_at", read: ({ lastAt }) => lastAt },
  { name: "account_id", read: ({ account }) => account?.id ?? null },
  { name: "account_name", read: ({ account }) => account?.name ?? null },
  { name: "key_id", read: ({ keyId }) => keyId },
  { name: "user", read: ({ userEmail }) => userEmail },
  { name: "source_ip", read: ({ sourceIp }) => sourceIp },
  { name: "upstream", read: ({ upstream }) => upstream },
];

/** Downloads the security events that match. */
export function exportSecurity(search: SecuritySearch): Promise<void> {
  return exportCsv("security-events", EVENT, async (cursor) => {
    const input = { ...securityInput(search), limit: PAGE_SIZE, ...after(cursor) };
    const { events, nextCursor } = await client.operator.security.query(input);
    return { rows: events, next: nextCursor };
  });
}
