import { Field } from "../../../components/Field.tsx";

interface ReasonProps {
  readonly value: string;
  readonly onChange: (reason: string) => void;
  readonly error: string | undefined;
  readonly required?: boolean;
  /** Of the form, where the field stands outside it. */
  readonly form?: string;
}

/** Why an operator changes something. */
export function Reason({ value, onChange, error, required = false, form }: ReasonProps) {
  return (
    <Field
      label={required ? "Reason" : "Reason (optional)"}
      hint="Stored in the audit trail. The account's users can see it."
      maxLength={500}
      autoComplete="off"
      required={required}
      form={form}
      value={value}
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** A reason as the service takes it: none, where nothing was written. */
export function givenReason(text: string): { readonly reason?: string } {
  const reason = text.trim();
  return reason === "" ? {} : { reason };
}
