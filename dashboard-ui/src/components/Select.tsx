import { type SelectHTMLAttributes, useId } from "react";
import { FieldNote, noted } from "./FieldNote.tsx";
import formStyles from "./form.module.css";

interface SelectProps extends SelectHTMLAttributes<HTMLSelectElement> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** A labelled select. Screen readers announce its hint and error with it. */
export function Select({ label, hint, error, options, ...select }: SelectProps) {
  const id = useId();
  const note = { inputId: id, hint, error };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <select id={id} {...select} {...noted(note)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <FieldNote {...note} />
    </div>
  );
}
