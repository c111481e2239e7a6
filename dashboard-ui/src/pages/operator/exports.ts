import { client } from "../../api/client.ts";
import type { ListedAccount, OperatorAction, SecurityEvent } from "../../api/types.ts";
import { type CsvColumn, exportCsv, MAX_ROWS } from "../../components/csv.ts";
import { accountsInput, securityInput, trailInput } from "./queries.ts";
import type { AccountOrder, AccountsSearch, SecuritySearch, TrailSearch } from "./search.ts";

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

const FIGURES: Readonly<Record<AccountOrder, (account: ListedAccount) => bigint>> = {
  balance: ({ balanceNanoUsd }) => balanceNanoUsd,
  cost: ({ recentCostNanoUsd }) => recentCostNanoUsd,
  requests: ({ recentRequests }) => BigInt(recentRequests),
};

/**
 * Downloads the accounts that match, in the order of the list. They are read in the order of their creation and sorted here, because an
 * account whose balance or usage changes meanwhile could be missing in pages that are sorted by it.
 */
export async function exportAccounts(search: AccountsSearch): Promise<void> {
  const { order, ascending, ...filter } = search;
  const read = (input: AccountsSearch) => async (cursor: string | undefined) => {
    const page = { ...accountsInput(input), limit: PAGE_SIZE, ...after(cursor) };
    const { accounts, nextCursor } = await client.operator.accounts.list.query(page);
    return { rows: accounts, next: nextCursor };
  };
  if (order === undefined) return exportCsv("accounts", ACCOUNT, read(search));
  const { total } = await client.operator.accounts.list.query({ ...accountsInput(filter), limit: 1 });
  // Of a longer list only the beginning is exported, which has to be that of the list in its order.
  const isCut = total !== null && total > MAX_ROWS;
  const figure = FIGURES[order];
  const sign = ascending === true ? 1 : -1;
  const compare = (a: ListedAccount, b: ListedAccount) =>
    sign * (figure(a) < figure(b) ? -1 : figure(a) > figure(b) ? 1 : a.id < b.id ? -1 : 1);
  return exportCsv("accounts", ACCOUNT, read(isCut ? search : filter), compare);
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
