const PRESETS = ["24h", "7d", "30d", "12mo"] as const;
/** A period that ends now. */
export type Preset = (typeof PRESETS)[number];

/** A period, as it is in the address of a page. */
export interface PeriodChoice {
  readonly range: Preset | "custom";
  /** The first and the last day of a custom period: `2026-01-31`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The zone of days and months: UTC, or the browser's. Absent: none was chosen, which means UTC. */
  readonly zone?: "utc" | "local" | undefined;
}

/** The part of a usage page's state that is in its address. */
interface Search<By extends string> extends PeriodChoice {
  readonly by: By;
}

export type UsageSearch = Search<"none" | "model" | "key">;
export type ServiceUsageSearch = Search<"none" | "model" | "account">;

export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const by = search.by === "none" || search.by === "key" ? search.by : "model";
  return { ...readPeriod(search), by };
}

export function readServiceUsageSearch(search: Record<string, unknown>): ServiceUsageSearch {
  const by = search.by === "none" || search.by === "account" ? search.by : "model";
  return { ...readPeriod(search), by };
}

/** Every name is present: the router keeps names that a validator omits as they are in the address. */
function readPeriod({ range, from, to, zone }: Record<string, unknown>): PeriodChoice {
  const isCustom = range === "custom";
  return {
    range: isCustom ? range : (PRESETS.find((known) => known === range) ?? "7d"),
    from: isCustom ? dayOf(from) : undefined,
    to: isCustom ? dayOf(to) : undefined,
    zone: zone === "local" || zone === "utc" ? zone : undefined,
  };
}

function dayOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !/^[12]\d{3}-\d\d-\d\d$/.test(value)) return undefined;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(value) ? value : undefined;
}
