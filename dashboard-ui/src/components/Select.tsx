import { type SelectHTMLAttributes, useId } from "react";
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
  const noteId = `${id}-note`;
  const note = error ?? hint;
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        {...select}
        aria-invalid={error !== undefined}
        aria-describedby={note === undefined ? undefined : noteId}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {note === undefined ? null : (
        <p
          id={noteId}
          className={error === undefined ? formStyles.hint : formStyles.fieldError}
          role={error === undefined ? undefined : "alert"}
        >
          {note}
        </p>
      )}
    </div>
  );
}
