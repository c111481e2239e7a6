import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from "react";
import { FieldNote, noted } from "./FieldNote.tsx";
import formStyles from "./form.module.css";
import { useFieldError } from "./use-field-error.ts";

export interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly ref?: Ref<HTMLInputElement>;
  readonly hint?: string;
  readonly error?: string | undefined;
  /** Content at the end of the input, inside its frame. */
  readonly end?: ReactNode;
}

/** A labelled input. Screen readers announce its hint and error with it. */
export function Field({ label, hint, error, end, ...input }: FieldProps) {
  const id = useId();
  const { error: shown, handlers } = useFieldError(error, { hint, onChange: input.onChange });
  const note = { inputId: id, hint, error: shown };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <div className={end === undefined ? undefined : formStyles.fieldWithEnd}>
        <input id={id} {...input} {...handlers} {...noted(note)} />
        {end}
      </div>
      <FieldNote {...note} />
    </div>
  );
}
