import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { UsageTotals } from "../../api/types.ts";
import type { GroupedRow } from "./groups.ts";
import type { Period, Span } from "./period.ts";

/** How often what is shown is asked for again. */
const REFRESH_MS = 30_000;

/** Where usage is asked for: an account's own, or everybody's. */
export interface UsageSource<By extends string> {
  /** Tells its answers apart in the cache. */
  readonly name: string;
  readonly ask: (span: Span, by: By) => Promise<readonly GroupedRow[]>;
  readonly askTotal: (span: Span) => Promise<UsageTotals>;
}

/** An answer with what it answers: while the next one is on its way, the one before stays, and stays true. */
export interface UsageAnswer<By extends string> {
  readonly period: Period;
  readonly by: By;
  readonly rows: readonly GroupedRow[];
  /** Of the time before. */
  readonly before: UsageTotals;
}

/** Usage, kept fresh. */
export function useUsage<By extends string>(
  { name, ask, askTotal }: UsageSource<By>,
  period: Period,
  by: By,
): UseQueryResult<UsageAnswer<By>, Error> {
  return useQuery({
    queryKey: ["usage", name, period.span, by],
    queryFn: async ({ client }) => {
      const [rows, before] = await Promise.all([
        ask(period.span, by),
        // Once is enough: the past changes no more.
        client.ensureQueryData({
          queryKey: ["usage", name, period.before],
          queryFn: () => askTotal(period.before),
          staleTime: Number.POSITIVE_INFINITY,
        }),
      ]);
      return { period, by, rows, before };
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
}
