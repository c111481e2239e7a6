import { useState } from "react";
import { Field } from "../../components/Field.tsx";
import { useDraft } from "../../components/use-draft.ts";
import { daysOf, MAX_CUSTOM_DAYS } from "./period.ts";
import usageStyles from "./usage.module.css";

interface CustomPeriodProps {
  readonly from: string;
  readonly to: string;
  readonly onChange: (change: { readonly from: string; readonly to: string }) => void;
}

/** The first and the last day of a period. */
export function CustomPeriod({ from, to, onChange }: CustomPeriodProps) {
  const [first, setFirst] = useDraft(from);
  const [last, setLast] = useDraft(to);
  const [error, setError] = useState<string | null>(null);
  const commit = () => {
    if (first === "" || last === "") return;
    if (daysOf({ from: first, to: last }) === null) return setError(problemOf(first, last));
    setError(null);
    if (first !== from || last !== to) onChange({ from: first, to: last });
  };
  const committed = {
    type: "date",
    min: "2000-01-01",
    max: "2999-12-31",
    onBlur: commit,
    onKeyDown: (event: { readonly key: string }) => {
      if (event.key === "Enter") commit();
    },
  } as const;
  return (
    <div className={usageStyles.usageDays}>
      <Field
        label="First day"
        {...committed}
        value={first}
        onChange={(event) => setFirst(event.target.value)}
      />
      <Field
        label="Last day"
        {...committed}
        value={last}
        error={error ?? undefined}
        onChange={(event) => setLast(event.target.value)}
      />
    </div>
  );
}

function problemOf(first: string, last: string): string {
  return last < first ? "Choose a day after the first." : `Choose at most ${MAX_CUSTOM_DAYS} days.`;
}
