import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterInputs } from "@trpc/server";
import type { ListedKey } from "../../api/types.ts";
import { formatDateTime } from "../../components/format.ts";
import type { AuditSearch, Range } from "./search.ts";

type TailInput = Exclude<inferRouterInputs<AppRouter>["audit"]["tail"], void>;

/** The filters of a request to the service, with times as text, as in the page's address. */
export type AuditFilters = Omit<TailInput, "lastEventId" | "from" | "to"> & {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The id of an account, in the log of all accounts. */
  readonly accountId?: string | undefined;
};

const HOUR_MS = 60 * 60 * 1_000;
const RANGE_MS: Readonly<Partial<Record<Range, number>>> = {
  "1h": HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
};

export const RANGE_NAMES: Readonly<Record<Range, string>> = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  month: "This month (UTC)",
  "last-month": "Last month (UTC)",
};

/** The filters of an address. Ranges are of the time when the address was opened. */
export function filtersOf(search: AuditSearch, openedAt: Date): AuditFilters {
  const { range, accountId, key, model, upstream, status, error_code, source } = search;
  const time = range === undefined ? { from: search.from, to: search.to } : timeOf(range, openedAt);
  const all = { ...time, accountId, key, model, upstream, status, error_code, source };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** The start of a range and, if it is over, its end. */
function timeOf(range: Range, now: Date): Pick<AuditFilters, "from" | "to"> {
  const lengthMs = RANGE_MS[range];
  if (lengthMs !== undefined) return { from: new Date(now.getTime() - lengthMs).toISOString() };
  if (range === "month") return { from: monthStart(now, 0) };
  return { from: monthStart(now, -1), to: monthStart(now, 0) };
}

function monthStart(now: Date, later: number): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later)).toISOString();
}

/** The filters of an address without one. A range without its start or its end is no range any more: the other one stays. */
export function removalOf(name: keyof AuditFilters, { from, to }: AuditFilters): AuditSearch {
  const time = name === "from" || name === "to" ? { range: undefined, from, to } : {};
  return { ...time, [name]: undefined };
}

/** The number of fields in use. */
export function countFilters({
  from,
  to,
  range,
  accountId,
  key,
  model,
  upstream,
  status,
  error_code,
  source,
}: AuditSearch): number {
  const isTimed = from !== undefined || to !== undefined || range !== undefined;
  const others = [accountId, key, model, upstream, status, error_code, source].filter(
    (value) => value !== undefined,
  );
  return others.length + (isTimed ? 1 : 0);
}

/** One filter in use. */
export interface FilterPart {
  readonly name: keyof AuditFilters;
  /** The filter as text: "key “production”", "status 4xx". */
  readonly label: string;
}

/** The filters in use. `key`: the key that they name, once it is known. */
export function filterParts(filters: AuditFilters, key: NamedKey | undefined): readonly FilterPart[] {
  const { from, to, accountId, key: keyId, model, upstream, status, error_code, source } = filters;
  const parts: (FilterPart | null)[] = [
    from === undefined ? null : { name: "from", label: `from ${timeLabel(from)}` },
    to === undefined ? null : { name: "to", label: `before ${timeLabel(to)}` },
    accountId === undefined ? null : { name: "accountId", label: `account ${accountId}` },
    keyId === undefined ? null : { name: "key", label: `key ${key === undefined ? keyId : keyLabel(key)}` },
    model === undefined ? null : { name: "model", label: textLabel("model", model) },
    upstream === undefined ? null : { name: "upstream", label: textLabel("upstream", upstream) },
    status === undefined
      ? null
      : { name: "status", label: status === "error" ? "errors only" : `status ${status}` },
    error_code === undefined ? null : { name: "error_code", label: textLabel("error code", error_code) },
    source === undefined ? null : { name: "source", label: `source ${source}` },
  ];
  return parts.filter((part) => part !== null);
}

/** The filters without one of them. */
export function withoutFilter(filters: AuditFilters, name: keyof AuditFilters): AuditFilters {
  const { [name]: _, ...others } = filters;
  return others;
}

export type NamedKey = Pick<ListedKey, "name" | "keyId">;

function keyLabel({ name, keyId }: NamedKey): string {
  return `“${name}” (…${keyId})`;
}

function textLabel(name: string, filter: string): string {
  return isContained(filter) ? `${name} contains “${textOfFilter(filter)}”` : `${name} ${filter}`;
}

/** Whether the filter searches for a text that values contain. */
export function isContained(filter: string): boolean {
  return /^\*[^*]+\*$/.test(filter);
}

/** The text of the field for a filter. */
export function textOfFilter(filter: string): string {
  return isContained(filter) ? filter.slice(1, -1) : filter;
}

/** The filter for a typed text: a known value is matched as it is, and any other text is searched for in the values. */
export function filterOfText(text: string, known: readonly string[]): string {
  if (text === "" || text.includes("*") || known.includes(text)) return text;
  return `*${text}*`;
}

function timeLabel(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : formatDateTime(time);
}
