import { Segmented } from "../../components/Segmented.tsx";
import { CustomPeriod } from "./CustomPeriod.tsx";
import { daysIn, LOCAL_ZONE, type Period } from "./period.ts";
import type { PeriodChoice } from "./search.ts";
import usageStyles from "./usage.module.css";

const RANGE_OPTIONS: readonly { readonly value: PeriodChoice["range"]; readonly label: string }[] = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "12mo", label: "12 months" },
  { value: "custom", label: "Custom" },
];

const ZONE_OPTIONS = [
  { value: "utc", label: "UTC" },
  { value: "local", label: zoneLabel(LOCAL_ZONE) },
] as const;

/** What the controls of usage change. */
export type UsageChange<By extends string> = Partial<PeriodChoice> & { readonly by?: By };

interface UsageControlsProps<By extends string> {
  readonly choice: PeriodChoice;
  /** The period of the choice: where a custom one begins. */
  readonly period: Period;
  readonly by: By;
  readonly groupings: readonly { readonly value: By; readonly label: string }[];
  readonly onChange: (change: UsageChange<By>) => void;
}

/** The choice of the period, its time zone and the grouping. */
export function UsageControls<By extends string>(props: UsageControlsProps<By>) {
  const { choice, period, by, groupings, onChange } = props;
  return (
    <div className={usageStyles.usageControls}>
      <div className={usageStyles.usageChoices}>
        <PeriodControls {...props} />
        <Segmented
          label="Grouping"
          value={by}
          options={groupings}
          onChange={(next) => onChange({ by: next })}
        />
      </div>
      {choice.range === "custom" ? (
        <CustomPeriod
          from={choice.from ?? ""}
          to={choice.to ?? ""}
          shown={period.words}
          onChange={({ from, to }) => onChange({ from, to })}
        />
      ) : null}
    </div>
  );
}

type PeriodControlsProps = Pick<UsageControlsProps<string>, "choice" | "period"> & {
  readonly onChange: (change: Partial<PeriodChoice>) => void;
};

/** The choice of the period and its time zone. */
function PeriodControls({ choice, period, onChange }: PeriodControlsProps) {
  const choose = (range: PeriodChoice["range"]) => {
    if (range === "custom") onChange({ range, ...daysIn(period) });
    else onChange({ range, from: undefined, to: undefined });
  };
  return (
    <>
      <Segmented label="Time" value={choice.range} options={RANGE_OPTIONS} onChange={choose} />
      {LOCAL_ZONE === "UTC" ? null : (
        <Segmented
          label="Time zone"
          value={choice.zone ?? (period.shownZone === undefined ? "local" : "utc")}
          options={ZONE_OPTIONS}
          onChange={(zone) => onChange({ zone })}
        />
      )}
    </>
  );
}

/** "Europe/Berlin" as "Berlin". */
function zoneLabel(zone: string): string {
  return (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
}
