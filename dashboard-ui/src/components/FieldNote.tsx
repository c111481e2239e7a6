import type { ReactNode } from "react";
import formStyles from "./form.module.css";

interface FieldNoteProps {
  /** The id of the input. */
  readonly inputId: string;
  readonly hint: ReactNode;
  readonly error: ReactNode;
}

/** The note below an input: its error, or else its hint. */
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

/** Links an input to its note, so that screen readers announce both. */
export function noted({ inputId, hint, error }: FieldNoteProps) {
  return {
    "aria-invalid": error !== undefined,
    "aria-describedby": (error ?? hint) === undefined ? undefined : noteIdOf(inputId),
  };
}

function noteIdOf(inputId: string): string {
  return `${inputId}-note`;
}
