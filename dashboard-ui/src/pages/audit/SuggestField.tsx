import { Autocomplete } from "@base-ui/react/autocomplete";
import { type ReactNode, useId } from "react";
import formStyles from "../../components/form.module.css";
import { formatCount } from "../../components/format.ts";
import { useDraft } from "../../components/use-draft.ts";
import { filterOfText, isContained, textOfFilter } from "./filters.ts";
import styles from "./SuggestField.module.css";

/** A value that entries may have. */
export interface Suggestion {
  readonly value: string;
  /** The number of entries that have it; `null` when that is unknown. */
  readonly count: number | null;
}

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
      <Autocomplete.Root
        items={suggestions}
        itemToStringValue={(suggestion) => suggestion.value}
        value={text}
        onValueChange={(next, { reason }) => {
          if (reason === "item-press") commit(next);
          else setText(next);
        }}
        onOpenChange={(isOpen) => (isOpen ? onOpen() : undefined)}
        openOnInputClick
      >
        <Autocomplete.Input
          id={id}
          placeholder="Any"
          spellCheck={false}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : errorId}
          onFocus={onOpen}
          onBlur={() => commit(text)}
          onKeyDown={(event) => {
            // Enter selects the highlighted suggestion, if any.
            const isChoosing = event.currentTarget.hasAttribute("aria-activedescendant");
            if (event.key === "Enter" && !isChoosing) commit(text);
          }}
        />
        <SuggestionList>
          {(suggestion: Suggestion) => (
            <Autocomplete.Item key={suggestion.value} value={suggestion} className={styles.suggestion}>
              <span>{suggestion.value}</span>
              {suggestion.count === null ? null : (
                <span className={styles.count}>{formatCount(suggestion.count)}</span>
              )}
            </Autocomplete.Item>
          )}
        </SuggestionList>
      </Autocomplete.Root>
      {error === undefined ? null : (
        <p id={errorId} className={formStyles.fieldError} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** The list below a field with suggestions. */
export function SuggestionList<Item>({ children }: { readonly children: (item: Item) => ReactNode }) {
  return (
    <Autocomplete.Portal>
      <Autocomplete.Positioner className={styles.suggestionsPlace} align="start" sideOffset={4}>
        <Autocomplete.Popup className={styles.suggestions}>
          <Autocomplete.List>{children}</Autocomplete.List>
        </Autocomplete.Popup>
      </Autocomplete.Positioner>
    </Autocomplete.Portal>
  );
}
