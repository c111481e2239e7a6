import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { queryClient } from "../../api/client.ts";
import type { UsageTotals } from "../../api/types.ts";
import type { GroupedRow } from "./groups.ts";
import { type Period, periodOf, type Span, startOf } from "./period.ts";
import type { PeriodChoice } from "./search.ts";

/** A source of usage: one account, or the whole service. */
export interface UsageSource<By extends string> {
  /** Part of the cache key. */
  readonly name: string;
  /** What all of the usage is of, such as one model: names and values of columns in exports. */
  readonly scope: Readonly<Record<string, string>>;
  readonly rows: (span: Span, by: By) => Promise<readonly GroupedRow[]>;
  readonly total: (span: Span) => Promise<UsageTotals>;
}

/** Usage with its selection. The previous answer stays visible, correctly labelled, while the next one loads. */
export interface UsageAnswer<By extends string> {
  readonly period: Period;
  readonly by: By;
  readonly rows: readonly GroupedRow[];
  /** Totals of the preceding period. */
  readonly before: UsageTotals;
}

/** Usage of a period in groups. */
export function usageQuery<By extends string>(
  { name, rows, total }: UsageSource<By>,
  period: Period,
  by: By,
) {
  return queryOptions({
    // The answer holds the zone that it is shown in, which for hours may differ from the span's.
    queryKey: ["usage", name, period.span, period.shownZone, by] as readonly unknown[],
    queryFn: async (): Promise<UsageAnswer<By>> => {
      const [current, before] = await Promise.all([
        rows(period.span, by),
        // The preceding period is read once, because the past does not change.
        queryClient.ensureQueryData({
          queryKey: ["usage", name, period.before],
          queryFn: () => total(period.before),
          staleTime: Number.POSITIVE_INFINITY,
        }),
      ]);
      return { period, by, rows: current, before };
    },
    placeholderData: keepPreviousData<UsageAnswer<By>>,
  });
}

/** Usage of a period, at present. */
export function currentUsageQuery<By extends string>(source: UsageSource<By>, choice: PeriodChoice, by: By) {
  return usageQuery(source, periodOf(choice, startOf(new Date(), "hour", 0)), by);
}
