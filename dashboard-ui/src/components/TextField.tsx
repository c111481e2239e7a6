import { isComposing } from "./composing.ts";
import { Field } from "./Field.tsx";
import { searchTextOf } from "./search-text.ts";
import { useDraft } from "./use-draft.ts";

interface TextFieldProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly error?: string | undefined;
  /** Called on Enter and on blur. */
  readonly onCommit: (value: string) => void;
}

/** A text field of a filter, which reports its value when the user has finished typing. */
export function TextField({ label, placeholder, value, error, onCommit }: TextFieldProps) {
  const [text, setText] = useDraft(value);
  const commit = () => {
    const wanted = searchTextOf(text);
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
