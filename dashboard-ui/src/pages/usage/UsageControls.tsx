import { Segmented } from "../../components/Segmented.tsx";
import type { Range } from "./search.ts";
import usageStyles from "./usage.module.css";

const RANGE_OPTIONS: readonly { readonly value: Range; readonly label: string }[] = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "12mo", label: "12 months" },
];

interface UsageControlsProps<By extends string> {
  readonly range: Range;
  readonly by: By;
  readonly groupings: readonly { readonly value: By; readonly label: string }[];
  readonly onChange: (change: { readonly range?: Range; readonly by?: By }) => void;
}

/** The choice of the period and the grouping. */
export function UsageControls<By extends string>({ range, by, groupings, onChange }: UsageControlsProps<By>) {
  return (
    <div className={usageStyles.usageControls}>
      <Segmented
        label="Time"
        value={range}
        options={RANGE_OPTIONS}
        onChange={(next) => onChange({ range: next })}
      />
      <Segmented
        label="Grouping"
        value={by}
        options={groupings}
        onChange={(next) => onChange({ by: next })}
      />
    </div>
  );
}
