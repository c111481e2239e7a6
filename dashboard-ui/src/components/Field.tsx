import { type InputHTMLAttributes, useId } from "react";

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
}

/** A labelled input, its hint and error read out with it. */
export function Field({ label, hint, error, ...input }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        {...input}
        aria-invalid={error !== undefined}
        aria-describedby={note === undefined ? undefined : noteId}
      />
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
