import { Field } from "../../components/Field.tsx";
import { useDraft } from "../../components/use-draft.ts";

interface TimeFieldProps {
  readonly label: string;
  /** RFC 3339, or whatever stands in the address. */
  readonly value: string;
  readonly error?: string | undefined;
  /** Called with a time as in RFC 3339, or nothing, on Enter and when the field is left. */
  readonly onCommit: (value: string) => void;
}

/** A time in the browser's zone. */
export function TimeField({ label, value, error, onCommit }: TimeFieldProps) {
  const [text, setText] = useDraft(localOf(value));
  const commit = () => {
    if (text !== localOf(value)) onCommit(instantOf(text));
  };
  return (
    <Field
      label={label}
      type="datetime-local"
      step={1}
      max="9999-12-31T23:59"
      value={text}
      error={error}
      onChange={(event) => setText(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    />
  );
}

/** As the input has it: without a zone, to the second. Empty for what is no time. */
function localOf(instant: string): string {
  const time = new Date(instant);
  if (Number.isNaN(time.getTime())) return "";
  const inZone = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return inZone.toISOString().slice(0, "2026-01-31T00:00:00".length);
}

function instantOf(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString().replace(".000Z", "Z");
}
