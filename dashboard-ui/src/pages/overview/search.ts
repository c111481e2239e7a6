export const RANGES = ["24h", "7d", "30d", "12mo"] as const;
export type Range = (typeof RANGES)[number];

/** What of a page about usage stands in its address. */
export interface UsageSearch {
  readonly range: Range;
  readonly by: "none" | "model" | "key";
}

export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const range = RANGES.find((known) => known === search.range) ?? "7d";
  const by = search.by === "none" || search.by === "key" ? search.by : "model";
  return { range, by };
}
