import { type ReactNode, useEffect, useRef } from "react";
import formStyles from "./form.module.css";
import { scrollIntoSight } from "./Notice.tsx";

interface FieldNoteProps {
  /** The id of the input. */
  readonly inputId: string;
  readonly hint: ReactNode;
  readonly error: ReactNode;
}

/** The note below an input: its error, or else its hint. The first error of a form is scrolled to where it would not be seen. */
export function FieldNote({ inputId, hint, error }: FieldNoteProps) {
  const note = error ?? hint;
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (error !== undefined && isFirstInvalid(inputId)) scrollIntoSight(element.current);
  }, [error, inputId]);
  if (note === undefined) return null;
  return (
    <p
      ref={element}
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

/** Whether no other field before it in its form has an error. */
function isFirstInvalid(inputId: string): boolean {
  const input = document.getElementById(inputId) as HTMLInputElement | null;
  return [...(input?.form?.elements ?? [])].find(({ ariaInvalid }) => ariaInvalid === "true") === input;
}

function noteIdOf(inputId: string): string {
  return `${inputId}-note`;
}
