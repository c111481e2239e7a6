export const RANGES = ["1h", "24h", "7d", "30d"] as const;
/** A stretch of time that ends now. */
export type Range = (typeof RANGES)[number];

/** The filters, in the words of the API. */
const FILTERS = ["from", "to", "key", "model", "status", "error_code", "source"] as const;
type FilterName = (typeof FILTERS)[number];

/** What of the page stands in its address. */
export interface AuditSearch extends Readonly<Partial<Record<FilterName, string | undefined>>> {
  /** Instead of `from` and `to`. */
  readonly range?: Range | undefined;
  /** Whether new entries are followed. */
  readonly live?: true | undefined;
  /** The request whose entry is open. */
  readonly entry?: string | undefined;
}

/** No filter at all: every name is there, so that what stands in the address is taken away. */
export const NO_FILTERS = {
  from: undefined,
  to: undefined,
  key: undefined,
  model: undefined,
  status: undefined,
  error_code: undefined,
  source: undefined,
  range: undefined,
} as const satisfies AuditSearch;

/** Every name is there, whether it is given or not: what a validator leaves out, the router takes from the address as it stands. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return {
    ...Object.fromEntries(FILTERS.map((name) => [name, textOf(search[name])])),
    range: RANGES.find((known) => known === search.range),
    live: search.live === true ? true : undefined,
    entry: textOf(search.entry),
  };
}

/** The router reads what looks like a number as one. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
