import { type ReactNode, useMemo } from "react";
import { Button } from "../../components/Button.tsx";
import { Swatch } from "../../components/chart/ChartLegend.tsx";
import { seriesColour } from "../../components/chart/colours.ts";
import { intervalLabel } from "../../components/chart/time-labels.ts";
import noticeStyles from "../../components/Notice.module.css";
import { staleProps } from "../../components/stale.ts";
import textStyles from "../../components/text.module.css";
import {
  type GroupName,
  groupsOf,
  type Places,
  placesOf,
  rankedBy,
  sumOf,
  totalsOf,
  type UsageGroup,
  withOwnLabels,
} from "./groups.ts";
import type { Grouping } from "./log-filter.ts";
import { MEASURES } from "./measures.ts";
import { LOCAL_ZONE, type Period } from "./period.ts";
import type { UsageAnswer, UsageSource } from "./queries.ts";
import { UsageCharts, type UsagePick } from "./UsageCharts.tsx";
import { UsageFigures } from "./UsageFigures.tsx";
import { UsageTable, type UsageTableRow } from "./UsageTable.tsx";
import usageStyles from "./usage.module.css";
import { downloadUsage } from "./usage-csv.ts";

interface UsageReportProps<By extends Grouping> {
  readonly answer: UsageAnswer<By>;
  readonly scope: UsageSource<By>["scope"];
  /** Whether the usage of another selection is being loaded. */
  readonly isStale: boolean;
  /** Renders a group's name in the table, for example with a link. */
  readonly nameOf: (group: GroupName, answer: UsageAnswer<By>) => ReactNode;
  /** Called with the part of a chart that was clicked. */
  readonly onPick?: ((pick: UsagePick, by: By) => void) | undefined;
}

/** The usage of a period: totals, charts, and a table of groups, or of intervals if ungrouped. */
export function UsageReport<By extends Grouping>(props: UsageReportProps<By>) {
  const { answer, scope, isStale, nameOf, onPick } = props;
  const { period, by, rows, before } = answer;
  const groups = useMemo(() => withOwnLabels(groupsOf(rows, period.starts)), [rows, period.starts]);
  const places = useMemo(
    () =>
      placesOf(
        MEASURES.map(({ read }) => read),
        groups,
      ),
    [groups],
  );
  const charts = useMemo(() => MEASURES.map(({ read }) => rankedBy(read, groups, places)), [groups, places]);
  const totals = useMemo(() => totalsOf(groups, period.starts.length), [groups, period.starts.length]);
  const total = useMemo(() => sumOf(totals), [totals]);
  const isGrouped = by !== "none";
  const grouping = isGrouped ? ` by ${by}` : "";
  return (
    <div {...staleProps(isStale, usageStyles.usageReport)}>
      <UsageFigures total={total} before={before} labelBefore={period.labelBefore} />
      {total.requests === 0 ? (
        <div className={noticeStyles.empty}>
          <p>No requests in {period.words}.</p>
        </div>
      ) : (
        <>
          <UsageCharts
            // The key forgets which series were switched off when the grouping changes.
            key={`charts by ${by}`}
            charts={charts}
            places={places}
            totals={totals}
            period={period}
            grouping={grouping}
            onPick={onPick === undefined ? undefined : (pick) => onPick(pick, by)}
          />
          <UsageTable
            // The key folds the table again when the grouping changes.
            key={by}
            caption={`Usage${grouping}, ${period.words}`}
            of={capitalised(isGrouped ? by : period.span.interval)}
            isOfTime={!isGrouped}
            rows={
              isGrouped
                ? rowsOfGroups(groups, places, (group) => nameOf(group, answer))
                : rowsOfTime(groups, period)
            }
          />
          <div className={usageStyles.usageFoot}>
            <p className={textStyles.small}>{noteOn(period)}</p>
            <Button onClick={() => downloadUsage(answer, scope)}>Export CSV</Button>
          </div>
        </>
      )}
    </div>
  );
}

function rowsOfGroups(
  groups: readonly UsageGroup[],
  places: Places,
  nameOf: (group: UsageGroup) => ReactNode,
): readonly UsageTableRow[] {
  return groups.map((group) => {
    const place = places.get(group.id);
    return {
      id: group.id,
      sortName: group.label,
      name: (
        <span className={usageStyles.usageName}>
          {groups.length > 1 ? <Swatch colour={seriesColour(place ?? 0, place === undefined)} /> : null}
          {nameOf(group)}
        </span>
      ),
      total: group.total,
    };
  });
}

/** The rows of a table of intervals, newest first. */
function rowsOfTime(
  groups: readonly UsageGroup[],
  { starts, span, shownZone }: Period,
): readonly UsageTableRow[] {
  return starts
    .map((start, index) => ({
      id: start.toISOString(),
      sortName: start.toISOString(),
      name: intervalLabel(start, span.interval, shownZone),
      total: sumOf(groups.flatMap(({ intervals }) => intervals[index] ?? [])),
    }))
    .toReversed();
}

const CURRENT = { hour: "The current hour", day: "Today", month: "This month" } as const;

/** Which zone times are in, and whether the period is over. */
function noteOn({ span: { to, interval }, shownZone }: Period): string {
  const zone = `Times in ${shownZone ?? LOCAL_ZONE}. `;
  return `${zone}${to.getTime() > Date.now() ? `${CURRENT[interval]} is incomplete.` : ""}`.trim();
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
