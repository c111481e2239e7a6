import { Field } from "../../components/Field.tsx";
import { formatZone } from "../../components/format.ts";
import { useDraft } from "../../components/use-draft.ts";

interface TimeFieldProps {
  readonly label: string;
  /** An RFC 3339 time, or any text of the address. */
  readonly value: string;
  readonly error?: string | undefined;
  /** Called with an RFC 3339 time or an empty text, on Enter and on blur. */
  readonly onCommit: (value: string) => void;
}

/** A time in the browser's zone, which the label names: an hour that clocks show twice is that of the named zone. */
export function TimeField({ label, value, error, onCommit }: TimeFieldProps) {
  const [text, setText] = useDraft(localOf(value));
  const commit = () => {
    if (text !== localOf(value)) onCommit(instantOf(text));
  };
  return (
    <Field
      label={`${label} (${formatZone(timeOf(value) ?? new Date())})`}
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

/** The time as the input's value: local, to the second, without a zone. Empty for an invalid time. */
function localOf(instant: string): string {
  const time = timeOf(instant);
  if (time === null) return "";
  const inZone = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return inZone.toISOString().slice(0, "2026-01-31T00:00:00".length);
}

function instantOf(local: string): string {
  return timeOf(local)?.toISOString().replace(".000Z", "Z") ?? "";
}

function timeOf(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
