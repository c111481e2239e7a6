import { useId } from "react";
import formStyles from "../../components/form.module.css";
import { useDraft } from "../../components/use-draft.ts";
import { filterOfText, isContained, textOfFilter } from "./filters.ts";
import { SuggestBox, type Suggestion } from "./SuggestBox.tsx";
import styles from "./SuggestField.module.css";

interface SuggestFieldProps {
  readonly label: string;
  /** The filter: a value, a pattern, or empty. */
  readonly value: string;
  readonly suggestions: readonly Suggestion[];
  readonly error?: string | undefined;
  /** Called on a chosen suggestion, on Enter and on blur. */
  readonly onCommit: (filter: string) => void;
  /** Called when the suggestions are about to be shown. */
  readonly onOpen: () => void;
}

/** A search field with suggestions. Text that is none of them is searched for in the values. */
export function SuggestField({ label, value, suggestions, error, onCommit, onOpen }: SuggestFieldProps) {
  const id = useId();
  const errorId = `${id}-error`;
  const [text, setText] = useDraft(textOfFilter(value));
  const commit = (next: string) => {
    const typed = next.trim();
    setText(typed);
    // A field that nobody changed keeps its filter.
    if (typed === textOfFilter(value)) return;
    onCommit(
      filterOfText(
        typed,
        suggestions.map((suggestion) => suggestion.value),
      ),
    );
  };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>
        {label}
        {isContained(value) ? <span className={styles.contains}> contains</span> : null}
      </label>
      <SuggestBox
        id={id}
        text={text}
        suggestions={suggestions}
        isFiltered
        errorId={error === undefined ? undefined : errorId}
        onType={setText}
        onChoose={commit}
        onOpen={onOpen}
        commit={() => commit(text)}
      />
      {error === undefined ? null : (
        <p id={errorId} className={formStyles.fieldError} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
