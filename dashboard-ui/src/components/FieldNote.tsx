import formStyles from "./form.module.css";

interface FieldNoteProps {
  /** The input's. */
  readonly inputId: string;
  readonly hint: string | undefined;
  readonly error: string | undefined;
}

/** What stands below an input: what is wrong with it, or else what helps to fill it in. */
export function FieldNote({ inputId, hint, error }: FieldNoteProps) {
  const note = error ?? hint;
  if (note === undefined) return null;
  return (
    <p
      id={noteIdOf(inputId)}
      className={error === undefined ? formStyles.hint : formStyles.fieldError}
      role={error === undefined ? undefined : "alert"}
    >
      {note}
    </p>
  );
}

/** Has the note read out with its input. */
export function noted({ inputId, hint, error }: FieldNoteProps) {
  return {
    "aria-invalid": error !== undefined,
    "aria-describedby": (error ?? hint) === undefined ? undefined : noteIdOf(inputId),
  };
}

function noteIdOf(inputId: string): string {
  return `${inputId}-note`;
}
