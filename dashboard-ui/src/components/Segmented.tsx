import { Toggle } from "@base-ui/react/toggle";
import { ToggleGroup } from "@base-ui/react/toggle-group";
import styles from "./Segmented.module.css";

interface SegmentedProps<Value extends string> {
  /** The group's name, for screen readers. */
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** A choice between a few options, shown side by side. */
export function Segmented<Value extends string>({ label, value, options, onChange }: SegmentedProps<Value>) {
  return (
    <ToggleGroup
      aria-label={label}
      className={styles.segmented}
      value={[value]}
      onValueChange={([next]) => {
        const chosen = options.find((option) => option.value === next);
        // One option is always chosen, so pressing it again changes nothing.
        if (chosen !== undefined) onChange(chosen.value);
      }}
    >
      {options.map((option) => (
        <Toggle key={option.value} value={option.value} className={styles.segment}>
          {option.label}
        </Toggle>
      ))}
    </ToggleGroup>
  );
}
