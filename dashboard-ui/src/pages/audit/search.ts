export const RANGES = ["1h", "24h", "7d", "30d", "month", "last-month"] as const;
/** A period that ends now, or a month of UTC, as in the credit statement. */
export type Range = (typeof RANGES)[number];

/** The filters, named as in the API. */
const FILTERS = ["from", "to", "key", "model", "upstream", "status", "error_code", "source"] as const;
type FilterName = (typeof FILTERS)[number];

/** The part of the page's state that is in its address. */
export interface AuditSearch extends Readonly<Partial<Record<FilterName, string | undefined>>> {
  /** The id of an account, in the log of all accounts. */
  readonly accountId?: string | undefined;
  /** Replaces `from` and `to`. */
  readonly range?: Range | undefined;
  /** Whether live updates are on. */
  readonly live?: true | undefined;
  /** The request whose entry is open. */
  readonly entry?: string | undefined;
}

/** No filters. Every name is present, so that navigation removes the values of the address. */
export const NO_FILTERS = {
  from: undefined,
  to: undefined,
  key: undefined,
  accountId: undefined,
  model: undefined,
  upstream: undefined,
  status: undefined,
  error_code: undefined,
  source: undefined,
  range: undefined,
} as const satisfies AuditSearch;

/** Every name must be present: the router keeps names that a validator omits as they are in the address. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return {
    ...Object.fromEntries(FILTERS.map((name) => [name, textOf(search[name])])),
    accountId: undefined,
    range: RANGES.find((known) => known === search.range),
    live: search.live === true ? true : undefined,
    entry: textOf(search.entry),
  };
}

/** As {@link readAuditSearch}, for the log of all accounts. */
export function readServiceLogSearch(search: Record<string, unknown>): AuditSearch {
  return { ...readAuditSearch(search), accountId: textOf(search.accountId) };
}

/** The router parses texts that look like numbers as numbers. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
