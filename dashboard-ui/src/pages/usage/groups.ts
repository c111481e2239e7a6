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
export type ReadTotals = (totals: UsageTotals) => number;

/**
 * The groups of a chart: those that are highest by the chart's own figure, as many as there are colours, and the others as one. Groups
 * without any of it are left out.
 */
export function rankedBy(read: ReadTotals, groups: readonly UsageGroup[]): readonly UsageGroup[] {
  const ranked = groups
    .filter(({ total }) => read(total) > 0)
    .toSorted((one, other) => {
      const isOther = Number(one.isOther ?? false) - Number(other.isOther ?? false);
      return isOther || read(other.total) - read(one.total) || (one.label < other.label ? -1 : 1);
    });
  const isOwn = ({ isOther }: UsageGroup, index: number) => isOther !== true && index < MAX_COLOURS;
  const rest = ranked.filter((group, index) => !isOwn(group, index));
  const [first] = rest;
  if (first === undefined) return ranked;
  const intervals = first.intervals.map((_, index) =>
    sumOf(rest.map(({ intervals }) => intervals[index] ?? NOTHING)),
  );
  return [
    ...ranked.filter(isOwn),
    { id: "rest", label: "All others", intervals, total: sumOf(intervals), isOther: true },
  ];
}

/** The colours of a chart's groups, by id: places from 0 up. */
export type Colours = ReadonlyMap<string, number>;

/**
 * Colours for the groups of several charts: all different within a chart, and the same in all charts as far as the number of colours
 * allows. Groups that most charts show choose first.
 */
export function coloursOf(charts: readonly (readonly UsageGroup[])[]): readonly Colours[] {
  const ids = charts.map((groups) => groups.flatMap(({ id, isOther }) => (isOther === true ? [] : [id])));
  const chartsOf = (id: string) => ids.filter((chart) => chart.includes(id)).length;
  const wanted = [...new Set(ids.flat())].toSorted((one, other) => chartsOf(other) - chartsOf(one));
  const colours = ids.map(() => new Map<string, number>());
  for (const id of wanted) {
    const own = colours.filter((_, index) => ids[index]?.includes(id));
    const shared = firstFree(own);
    for (const chart of own) chart.set(id, shared ?? firstFree([chart]) ?? MAX_COLOURS);
  }
  return colours;
}

/** The first colour that none of some charts has given away. */
function firstFree(charts: readonly Colours[]): number | null {
  const taken = new Set(charts.flatMap((chart) => [...chart.values()]));
  for (let colour = 0; colour < MAX_COLOURS; colour++) if (!taken.has(colour)) return colour;
  return null;
}

/** The colour of a group in the charts that show it; `undefined` if none does, or if they differ. */
export function commonColour(id: string, charts: readonly Colours[]): number | undefined {
  const [first, ...others] = new Set(charts.flatMap((chart) => chart.get(id) ?? []));
  return others.length === 0 ? first : undefined;
}
