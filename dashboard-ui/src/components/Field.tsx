import { type InputHTMLAttributes, type ReactNode, useId } from "react";

export interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  /** At the end of the input, inside its frame. */
  readonly end?: ReactNode;
}

/** A labelled input, its hint and error read out with it. */
export function Field({ label, hint, error, end, ...input }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className={end === undefined ? undefined : "field-with-end"}>
        <input
          id={id}
          {...input}
          aria-invalid={error !== undefined}
          aria-describedby={note === undefined ? undefined : noteId}
        />
        {end}
      </div>
      {note === undefined ? null : (
        <p
          id={noteId}
          className={error === undefined ? "hint" : "field-error"}
          role={error === undefined ? undefined : "alert"}
        >
          {note}
        </p>
      )}
    </div>
  );
}
