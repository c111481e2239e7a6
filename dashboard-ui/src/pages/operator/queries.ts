import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { AccountsSearch, SecuritySearch } from "./search.ts";
import { SECURITY_KINDS } from "./security/security-labels.ts";

const PAGE_SIZE = 50;

/** Accounts that match the search, newest first. */
export function accountsQuery({ search = "", state, plan }: AccountsSearch) {
  const input = {
    limit: PAGE_SIZE,
    search,
    ...(state === undefined ? {} : { state }),
    ...(plan === undefined ? {} : { plan }),
  };
  return api.operator.accounts.list.infiniteQueryOptions(input, {
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // Operators look for accounts that have just signed up.
    staleTime: 0,
  });
}

/** Security events that match the search, most recent first. */
export function securityQuery({ accountId, source, ...search }: SecuritySearch) {
  const kind = SECURITY_KINDS.find(({ value }) => value === search.kind)?.value;
  const input = {
    limit: PAGE_SIZE,
    ...(kind === undefined ? {} : { kind }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(source === undefined ? {} : { source }),
  };
  return api.operator.security.infiniteQueryOptions(input, {
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

interface TrailOptions {
  /** The account; absent for all accounts. */
  readonly accountId?: string;
  readonly pageSize: number;
}

/** Changes, newest first. */
export function trailQuery({ accountId, pageSize }: TrailOptions) {
  const input = { limit: pageSize, ...(accountId === undefined ? {} : { accountId }) };
  return api.operator.audit.infiniteQueryOptions(input, {
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // Operators check changes that have just been made.
    staleTime: 0,
  });
}

/** The page sizes of the change lists: of one account, and of the service. */
export const ACCOUNT_TRAIL_SIZE = 20;
export const SERVICE_TRAIL_SIZE = PAGE_SIZE;
