import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { AccountsSearch, SecuritySearch, TrailSearch } from "./search.ts";
import { SECURITY_KINDS } from "./security/security-labels.ts";

const PAGE_SIZE = 50;

/** The filters and the order of a list of accounts. */
export function accountsInput({ search = "", state, plan, order, ascending }: AccountsSearch) {
  return {
    limit: PAGE_SIZE,
    search,
    ...(order === undefined ? {} : { order }),
    ...(ascending === undefined ? {} : { ascending }),
    ...(state === undefined ? {} : { state }),
    ...(plan === undefined ? {} : { plan }),
  };
}

/** Accounts that match the search. */
export function accountsQuery(search: AccountsSearch) {
  const input = accountsInput(search);
  return api.operator.accounts.list.infiniteQueryOptions(input, {
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // Operators look for accounts that have just signed up.
    staleTime: 0,
  });
}

/** The filters of a list of security events. */
export function securityInput({ accountId, source, ...search }: SecuritySearch) {
  const kind = SECURITY_KINDS.find(({ value }) => value === search.kind)?.value;
  return {
    limit: PAGE_SIZE,
    ...(kind === undefined ? {} : { kind }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(source === undefined ? {} : { source }),
  };
}

/** Security events that match the search, most recent first. */
export function securityQuery(search: SecuritySearch) {
  const input = securityInput(search);
  return api.operator.security.infiniteQueryOptions(input, {
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

interface TrailOptions extends TrailSearch {
  readonly pageSize: number;
}

/** The filters of a list of changes. */
export function trailInput({ accountId, action, author, source, search }: TrailSearch) {
  return {
    ...(accountId === undefined ? {} : { accountId }),
    ...(action === undefined ? {} : { action }),
    ...(author === undefined ? {} : { author }),
    ...(source === undefined ? {} : { source }),
    ...(search === undefined ? {} : { search }),
  };
}

/** Changes, newest first. */
export function trailQuery({ pageSize, ...search }: TrailOptions) {
  const input = { limit: pageSize, ...trailInput(search) };
  return api.operator.audit.infiniteQueryOptions(input, {
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // Operators check changes that have just been made.
    staleTime: 0,
  });
}

/** The page sizes of the change lists: of one account, and of the service. */
export const ACCOUNT_TRAIL_SIZE = 20;
export const SERVICE_TRAIL_SIZE = PAGE_SIZE;
