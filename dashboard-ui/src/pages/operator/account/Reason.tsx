import { Field } from "../../../components/Field.tsx";

interface ReasonProps {
  readonly value: string;
  readonly onChange: (reason: string) => void;
  readonly error: string | undefined;
  readonly required?: boolean;
  /** The id of the form, for a field outside it. */
  readonly form?: string;
}

/** The field for the reason of a change. */
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

/** The reason as the service accepts it: omitted when empty. */
export function givenReason(text: string): { readonly reason?: string } {
  const reason = text.trim();
  return reason === "" ? {} : { reason };
}
