export const RANGES = ["24h", "7d", "30d", "12mo"] as const;
export type Range = (typeof RANGES)[number];

/** The part of a usage page's state that is in its address. */
interface Search<By extends string> {
  readonly range: Range;
  readonly by: By;
}

export type UsageSearch = Search<"none" | "model" | "key">;
export type ServiceUsageSearch = Search<"none" | "model" | "account">;

export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const by = search.by === "none" || search.by === "key" ? search.by : "model";
  return { range: rangeOf(search.range), by };
}

export function readServiceUsageSearch(search: Record<string, unknown>): ServiceUsageSearch {
  const by = search.by === "none" || search.by === "account" ? search.by : "model";
  return { range: rangeOf(search.range), by };
}

function rangeOf(value: unknown): Range {
  return RANGES.find((known) => known === value) ?? "7d";
}
