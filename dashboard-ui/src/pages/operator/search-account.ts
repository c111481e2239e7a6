import { readUsageSearch, type UsageSearch } from "../usage/search.ts";

/** The tabs of an account's page. */
export const ACCOUNT_TABS = [
  { value: "overview", label: "Overview" },
  { value: "keys", label: "Keys" },
  { value: "usage", label: "Usage" },
  { value: "log", label: "Log" },
  { value: "access", label: "Limits and access" },
  { value: "credit", label: "Credit" },
  { value: "history", label: "History" },
] as const;
export type AccountTab = (typeof ACCOUNT_TABS)[number]["value"];

interface AccountSearch extends Partial<UsageSearch> {
  /** Absent: the overview. */
  readonly tab?: AccountTab | undefined;
  /** Of the log: the requests that are shown. Absent: all. */
  readonly status?: "error" | undefined;
}

export function readAccountSearch(search: Record<string, unknown>): AccountSearch {
  const tab = ACCOUNT_TABS.find(({ value }) => value === search.tab)?.value;
  if (tab === "usage") return { ...readUsageSearch(search), tab };
  return tab === "log" && search.status === "error" ? { tab, status: "error" } : { tab };
}
