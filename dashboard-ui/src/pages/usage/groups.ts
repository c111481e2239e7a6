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

/** Groups whose labels differ. Accounts may have the same name: then each has the end of its ID, too. */
export function withOwnLabels(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  const counts = new Map<string, number>();
  for (const { label } of groups) counts.set(label, (counts.get(label) ?? 0) + 1);
  return groups.map((group) =>
    (counts.get(group.label) ?? 0) > 1 && group.isOther !== true
      ? { ...group, label: `${group.label} (ID …${group.id.slice(-6)})` }
      : group,
  );
}

/** The totals of each interval over all groups. */
export function totalsOf(groups: readonly UsageGroup[], intervals: number): readonly UsageTotals[] {
  return Array.from({ length: intervals }, (_, index) =>
    sumOf(groups.map((group) => group.intervals[index] ?? NOTHING)),
  );
}

function inOrder(one: UsageGroup, other: UsageGroup): number {
  const isOther = Number(one.isOther ?? false) - Number(other.isOther ?? false);
  return isOther || other.total.requests - one.total.requests || (one.label < other.label ? -1 : 1);
}

/** A figure of usage. */
type ReadTotals = (totals: UsageTotals) => number;

/**
 * The places of the groups that charts name, by the ids of the groups. Places count from 0, and there are as many as colours. A group has one place, and so
 * one colour, in all charts and in the table. The groups with the highest share of any figure get the places.
 */
export type Places = ReadonlyMap<string, number>;

export function placesOf(reads: readonly ReadTotals[], groups: readonly UsageGroup[]): Places {
  const own = groups.filter(({ isOther }) => isOther !== true);
  const sums = reads.map((read) => own.reduce((sum, { total }) => sum + read(total), 0));
  const shareOf = ({ total }: UsageGroup) =>
    Math.max(...reads.map((read, index) => read(total) / (sums[index] || 1)));
  const named = own.toSorted((one, other) => shareOf(other) - shareOf(one)).slice(0, MAX_COLOURS);
  // In the order of the table, so that the first colour is that of the first row.
  return new Map(own.filter((group) => named.includes(group)).map(({ id }, place) => [id, place]));
}

/** The groups of a chart, by its own figure: the named ones, and the others as one. Groups without any of it are left out. */
export function rankedBy(
  read: ReadTotals,
  groups: readonly UsageGroup[],
  places: Places,
): readonly UsageGroup[] {
  const some = groups.filter(({ total }) => read(total) > 0);
  const named = some
    .filter(({ id }) => places.has(id))
    .toSorted((one, other) => read(other.total) - read(one.total) || (one.label < other.label ? -1 : 1));
  const rest = some.filter(({ id }) => !places.has(id));
  const [first] = rest;
  if (first === undefined) return named;
  const intervals = first.intervals.map((_, index) =>
    sumOf(rest.map(({ intervals }) => intervals[index] ?? NOTHING)),
  );
  return [...named, { id: "rest", label: "All others", intervals, total: sumOf(intervals), isOther: true }];
}
