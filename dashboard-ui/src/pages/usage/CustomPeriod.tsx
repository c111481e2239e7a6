import { useState } from "react";
import { Field } from "../../components/Field.tsx";
import { useDraft } from "../../components/use-draft.ts";
import { daysOf, MAX_CUSTOM_DAYS } from "./period.ts";
import usageStyles from "./usage.module.css";

interface CustomPeriodProps {
  readonly from: string;
  readonly to: string;
  /** The name of the period that is shown. It is not that of these days if they are no period. */
  readonly shown: string;
  readonly onChange: (change: { readonly from: string; readonly to: string }) => void;
}

/** The first and the last day of a period. */
export function CustomPeriod({ from, to, shown, onChange }: CustomPeriodProps) {
  const [first, setFirst] = useDraft(from);
  const [last, setLast] = useDraft(to);
  const [error, setError] = useState<string | null>(null);
  const commit = () => {
    if (first === "" || last === "") return;
    if (daysOf({ from: first, to: last }) === null) return setError(problemOf(first, last));
    setError(null);
    if (first !== from || last !== to) onChange({ from: first, to: last });
  };
  // An address may have days that are no period.
  const problem = error ?? (daysOf({ from, to }) === null ? problemOf(from, to) : null);
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
        error={problem === null ? undefined : `${problem} Shown: ${shown}.`}
        onChange={(event) => setLast(event.target.value)}
      />
    </div>
  );
}

function problemOf(first: string, last: string): string {
  if (first === "" || last === "") return "Choose both days.";
  return last < first ? "Choose the first day or a later one." : `Choose at most ${MAX_CUSTOM_DAYS} days.`;
}
