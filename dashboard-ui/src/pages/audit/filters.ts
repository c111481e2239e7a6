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
};

const HOUR_MS = 60 * 60 * 1_000;
const RANGE_MS: Readonly<Record<Range, number>> = {
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
};

/** The filters of an address. Ranges end at the time when the address was opened. */
export function filtersOf(search: AuditSearch, openedAt: Date): AuditFilters {
  const { range, key, model, status, error_code, source } = search;
  const time =
    range === undefined
      ? { from: search.from, to: search.to }
      : { from: new Date(openedAt.getTime() - RANGE_MS[range]).toISOString() };
  const all = { ...time, key, model, status, error_code, source };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** The number of fields in use. */
export function countFilters({
  from,
  to,
  range,
  key,
  model,
  status,
  error_code,
  source,
}: AuditSearch): number {
  const isTimed = from !== undefined || to !== undefined || range !== undefined;
  const others = [key, model, status, error_code, source].filter((value) => value !== undefined);
  return others.length + (isTimed ? 1 : 0);
}

/** The key that a filter names by its id or its key ID. */
export function findKey(keys: readonly ListedKey[], value: string): ListedKey | undefined {
  return keys.find(({ id, keyId }) => id === value.toLowerCase() || keyId === value);
}

/** The filters as texts: "key “production”", "status 4xx". */
export function filterLabels(filters: AuditFilters, keys: readonly ListedKey[]): readonly string[] {
  const { from, to, key, model, status, error_code, source } = filters;
  const words: string[] = [];
  if (from !== undefined) words.push(`from ${timeLabel(from)}`);
  if (to !== undefined) words.push(`before ${timeLabel(to)}`);
  if (key !== undefined) {
    const found = findKey(keys, key);
    words.push(found === undefined ? `key ${key}` : `key “${found.name}” (…${found.keyId})`);
  }
  if (model !== undefined) words.push(`model ${model}`);
  if (status !== undefined) words.push(`status ${status}`);
  if (error_code !== undefined) words.push(`error code ${error_code}`);
  if (source !== undefined) words.push(`source ${source}`);
  return words;
}

function timeLabel(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : formatDateTime(time);
}
