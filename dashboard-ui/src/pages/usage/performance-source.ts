import { client } from "../../api/client.ts";
import type { Span } from "./period.ts";
import type { UsageFilter } from "./sources.ts";

export type PerformanceAnswer = Awaited<ReturnType<typeof client.usage.performance.query>>;
export type PerformanceFigures = Omit<PerformanceAnswer["upstreams"][number], "upstream">;

/** A source of latencies: one account or a part of it, or the whole service. */
export interface PerformanceSource {
  /** Part of the cache key. */
  readonly name: string;
  readonly read: (span: Span) => Promise<PerformanceAnswer>;
}

/** The latencies of the signed-in account. */
export function accountPerformance(filter: UsageFilter): PerformanceSource {
  return {
    name: `account ${JSON.stringify(filter)}`,
    read: (span) => client.usage.performance.query({ ...span, ...filter }),
  };
}

/** The latencies of all accounts. */
export const SERVICE_PERFORMANCE: PerformanceSource = {
  name: "service",
  read: (span) => client.operator.performance.query(span),
};
