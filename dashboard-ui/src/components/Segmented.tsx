import { type KeyboardEvent, useRef } from "react";
import styles from "./Segmented.module.css";

interface SegmentedProps<Value extends string> {
  /** The group's name, for screen readers. */
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** A choice between a few options, shown side by side. The tabulator reaches the group once; arrows move within it. */
export function Segmented<Value extends string>({ label, value, options, onChange }: SegmentedProps<Value>) {
  const group = useRef<HTMLFieldSetElement>(null);
  const chosen = Math.max(
    0,
    options.findIndex((option) => option.value === value),
  );
  const move = (event: KeyboardEvent) => {
    const buttons = [...(group.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons.at(to % buttons.length)?.focus();
  };
  return (
    <fieldset ref={group} aria-label={label} className={styles.segmented} onKeyDown={move}>
      {options.map((option, index) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          tabIndex={index === chosen ? 0 : -1}
          className={styles.segment}
          onClick={() => {
            // One option is always chosen, so pressing it again changes nothing.
            if (option.value !== value) onChange(option.value);
          }}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
