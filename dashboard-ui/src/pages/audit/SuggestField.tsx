import { Autocomplete } from "@base-ui/react/autocomplete";
import { useId } from "react";
import formStyles from "../../components/form.module.css";
import { useDraft } from "../../components/use-draft.ts";
import styles from "./SuggestField.module.css";

interface SuggestFieldProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  /** The suggested values. Other values can be typed. */
  readonly suggestions: readonly string[];
  readonly error?: string | undefined;
  /** Called on a chosen suggestion, on Enter and on blur. */
  readonly onCommit: (value: string) => void;
}

/** A labelled input with suggestions. */
export function SuggestField({ label, placeholder, value, suggestions, error, onCommit }: SuggestFieldProps) {
  const id = useId();
  const errorId = `${id}-error`;
  const [text, setText] = useDraft(value);
  const commit = (next: string) => {
    const wanted = next.trim();
    setText(wanted);
    if (wanted !== value) onCommit(wanted);
  };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <Autocomplete.Root
        items={suggestions}
        value={text}
        onValueChange={(next, { reason }) => {
          if (reason === "item-press") commit(next);
          else setText(next);
        }}
        openOnInputClick
      >
        <Autocomplete.Input
          id={id}
          placeholder={placeholder}
          spellCheck={false}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : errorId}
          onBlur={() => commit(text)}
          onKeyDown={(event) => {
            // Enter selects the highlighted suggestion, if any.
            const isChoosing = event.currentTarget.hasAttribute("aria-activedescendant");
            if (event.key === "Enter" && !isChoosing) commit(text);
          }}
        />
        <Autocomplete.Portal>
          <Autocomplete.Positioner className={styles.suggestionsPlace} align="start" sideOffset={4}>
            <Autocomplete.Popup className={styles.suggestions}>
              <Autocomplete.List>
                {(suggestion: string) => (
                  <Autocomplete.Item key={suggestion} value={suggestion} className={styles.suggestion}>
                    {suggestion}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Popup>
          </Autocomplete.Positioner>
        </Autocomplete.Portal>
      </Autocomplete.Root>
      {error === undefined ? null : (
        <p id={errorId} className={formStyles.fieldError} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
