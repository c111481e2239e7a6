import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { Below } from "../../components/Below.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import type { GroupName } from "./groups.ts";
import type { Grouping } from "./log-filter.ts";
import { Performance } from "./Performance.tsx";
import type { PerformanceSource } from "./performance-source.ts";
import { periodOf } from "./period.ts";
import { type UsageAnswer, type UsageSource, usageQuery } from "./queries.ts";
import type { PeriodChoice } from "./search.ts";
import type { UsagePick } from "./UsageCharts.tsx";
import { type UsageChange, UsageControls } from "./UsageControls.tsx";
import { UsageReport } from "./UsageReport.tsx";
import usageStyles from "./usage.module.css";
import { useCurrentHour } from "./use-current-hour.ts";

/** How often visible usage is refreshed. */
const REFRESH_MS = 30_000;

interface UsageSectionProps<By extends Grouping> {
  readonly title: string;
  readonly source: UsageSource<By>;
  readonly performance: PerformanceSource;
  readonly choice: PeriodChoice;
  readonly by: By;
  readonly groupings: readonly { readonly value: By; readonly label: string }[];
  readonly onChange: (change: UsageChange<By>) => void;
  /** Renders a group's name in the table, for example with a link. */
  readonly nameOf: (group: GroupName, answer: UsageAnswer<By>) => ReactNode;
  /** Called with the part of a chart that was clicked. */
  readonly onPick?: ((pick: UsagePick, by: By) => void) | undefined;
  /** What stands below the usage. */
  readonly children?: ReactNode;
}

/** Usage with controls for the period and the grouping. */
export function UsageSection<By extends Grouping>(props: UsageSectionProps<By>) {
  const { title, source, performance, choice, by, groupings, onChange, nameOf, onPick, children } = props;
  const hour = useCurrentHour();
  const { range, from, to, zone } = choice;
  const period = useMemo(() => periodOf({ range, from, to, zone }, hour), [range, from, to, zone, hour]);
  const usage = useQuery({ ...usageQuery(source, period, by), refetchInterval: REFRESH_MS });
  return (
    <>
      <div className={usageStyles.usageHead}>
        <h2>{title}</h2>
        <UsageControls choice={choice} period={period} by={by} groupings={groupings} onChange={onChange} />
      </div>
      <Loaded query={usage} what="usage">
        {(answer) => (
          <UsageReport
            answer={answer}
            scope={source.scope}
            isStale={usage.isPlaceholderData}
            nameOf={nameOf}
            onPick={onPick}
          />
        )}
      </Loaded>
      <Below queries={[usage]}>
        <Performance source={performance} period={period} />
        {children}
      </Below>
    </>
  );
}
