import type { ListedKey } from "../../api/types.ts";
import type { KeysSearch } from "./search.ts";

/** The matching keys in the selected order, active keys before revoked ones. */
export function selectKeys(keys: readonly ListedKey[], { search, state, order }: KeysSearch): ListedKey[] {
  const wanted = (search ?? "").toLowerCase();
  return keys
    .filter(
      (key) =>
        (state === undefined || key.state === state) &&
        (key.name.toLowerCase().includes(wanted) || key.keyId.toLowerCase().includes(wanted)),
    )
    .sort((one, other) => byState(one, other) || compare(one, other, order));
}

function byState(one: ListedKey, other: ListedKey): number {
  return Number(one.state === "revoked") - Number(other.state === "revoked");
}

/** The list arrives newest first, and the sort is stable. */
function compare(one: ListedKey, other: ListedKey, order: KeysSearch["order"]): number {
  if (order === "name") return one.name.localeCompare(other.name, undefined, { numeric: true });
  if (order === "requests") return other.usage.requestsLastDay - one.usage.requestsLastDay;
  if (order === "last-use") return timeOf(other.usage.lastUsedAt) - timeOf(one.usage.lastUsedAt);
  return one.state === "revoked" ? timeOf(other.revokedAt) - timeOf(one.revokedAt) : 0;
}

function timeOf(date: Date | null): number {
  return date?.getTime() ?? 0;
}
