import type { UsageTotals } from "../../api/types.ts";
import { MAX_COLOURS } from "../../components/chart/colours.ts";

/** A group of usage: a model, a key or an account. */
export interface GroupName {
  readonly id: string;
  readonly label: string;
  /** Whether the group sums up all groups that are not named. */
  readonly isOther?: boolean;
}

export interface GroupedRow extends UsageTotals {
  readonly start: Date;
  readonly group: GroupName;
}

export interface UsageGroup extends GroupName {
  /** The totals of each interval. */
  readonly intervals: readonly UsageTotals[];
  readonly total: UsageTotals;
}

export const NOTHING: UsageTotals = {
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  costNanoUsd: 0n,
};

export function sumOf(totals: readonly UsageTotals[]): UsageTotals {
  return totals.reduce(
    (sum, each) => ({
      requests: sum.requests + each.requests,
      errors: sum.errors + each.errors,
      promptTokens: sum.promptTokens + each.promptTokens,
      completionTokens: sum.completionTokens + each.completionTokens,
      cachedTokens: sum.cachedTokens + each.cachedTokens,
      costNanoUsd: sum.costNanoUsd + each.costNanoUsd,
    }),
    NOTHING,
  );
}

export const tokensOf = ({ promptTokens, completionTokens }: UsageTotals): number =>
  promptTokens + completionTokens;

/**
 * Groups by number of requests, highest first, with the rest last. Intervals that are missing in the answer are filled with
 * zeros.
 */
export function groupsOf(rows: readonly GroupedRow[], starts: readonly Date[]): readonly UsageGroup[] {
  const groups = new Map<string, { name: GroupName; byStart: Map<number, UsageTotals> }>();
  for (const { start, group, ...totals } of rows) {
    const known = groups.get(group.id) ?? { name: group, byStart: new Map() };
    groups.set(group.id, known);
    known.byStart.set(start.getTime(), sumOf([known.byStart.get(start.getTime()) ?? NOTHING, totals]));
  }
  return [...groups.values()]
    .map(({ name, byStart }) => {
      const intervals = starts.map((start) => byStart.get(start.getTime()) ?? NOTHING);
      return { ...name, intervals, total: sumOf(intervals) };
    })
    .sort(inOrder);
}

function inOrder(one: UsageGroup, other: UsageGroup): number {
  const isOther = Number(one.isOther ?? false) - Number(other.isOther ?? false);
  return isOther || other.total.requests - one.total.requests || (one.label < other.label ? -1 : 1);
}

/** Limits the groups to the number of colours, and sums up the others. */
export function withRest(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  const isOwn = ({ isOther }: UsageGroup, index: number) => isOther !== true && index < MAX_COLOURS;
  const rest = groups.filter((group, index) => !isOwn(group, index));
  const [first] = rest;
  if (first === undefined) return groups;
  const intervals = first.intervals.map((_, index) =>
    sumOf(rest.map(({ intervals }) => intervals[index] ?? NOTHING)),
  );
  return [
    ...groups.filter(isOwn),
    { id: "rest", label: "other", intervals, total: sumOf(intervals), isOther: true },
  ];
}
