import { isComposing } from "./composing.ts";
import { Field } from "./Field.tsx";
import { useDraft } from "./use-draft.ts";

interface TextFieldProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly error?: string | undefined;
  /** Called on Enter and on blur. */
  readonly onCommit: (value: string) => void;
}

/** A text field that reports its value when the user has finished typing. */
export function TextField({ label, placeholder, value, error, onCommit }: TextFieldProps) {
  const [text, setText] = useDraft(value);
  const commit = () => {
    const wanted = text.trim();
    setText(wanted);
    if (wanted !== value) onCommit(wanted);
  };
  return (
    <Field
      label={label}
      placeholder={placeholder}
      spellCheck={false}
      autoComplete="off"
      value={text}
      error={error}
      onChange={(event) => setText(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !isComposing(event)) commit();
      }}
    />
  );
}
