import { type ComponentProps, useId } from "react";

interface TextAreaProps extends ComponentProps<"textarea"> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
}

/** A labelled input of several lines, its hint and error read out with it. */
export function TextArea({ label, hint, error, ...textarea }: TextAreaProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        {...textarea}
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
