import { type ComponentProps, useId } from "react";
import { FieldNote, noted } from "../../../components/FieldNote.tsx";
import formStyles from "../../../components/form.module.css";

interface TextAreaProps extends ComponentProps<"textarea"> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
}

/** A labelled input of several lines. Screen readers announce its hint and error with it. */
export function TextArea({ label, hint, error, ...textarea }: TextAreaProps) {
  const id = useId();
  const note = { inputId: id, hint, error };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea id={id} {...textarea} {...noted(note)} />
      <FieldNote {...note} />
    </div>
  );
}
