import { Autocomplete } from "@base-ui/react/autocomplete";
import { useEffect, useRef, useState } from "react";
import { formatCount } from "../../components/format.ts";
import type { SuggestBoxProps, Suggestion } from "./SuggestBox.tsx";
import styles from "./SuggestField.module.css";

/** What the user did with the plain field in the place of this one. */
export interface TakenOver {
  /** Where the selection begins and ends, if the field had the focus. */
  readonly selection: readonly [number | null, number | null] | null;
  /** Whether the user clicked or typed, which shows the suggestions. */
  readonly isOpen: boolean;
}

interface SuggestInputProps extends SuggestBoxProps {
  readonly before: TakenOver;
}

/** A field with a list of suggestions. */
export function SuggestInput({
  suggestions,
  isFiltered,
  before,
  onOpen,
  commit,
  ...props
}: SuggestInputProps) {
  const { id, text, placeholder = "Any", errorId, onType, onChoose } = props;
  const input = useRef<HTMLInputElement>(null);
  const first = useRef(before);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(first.current.isOpen);
    if (first.current.selection === null) return;
    input.current?.focus();
    input.current?.setSelectionRange(...first.current.selection);
  }, []);
  return (
    <Autocomplete.Root
      items={suggestions}
      mode={isFiltered ? "list" : "none"}
      itemToStringValue={(suggestion: Suggestion) => suggestion.value}
      value={text}
      open={isOpen}
      onValueChange={(next, { reason }) => (reason === "item-press" ? onChoose(next) : onType(next))}
      onOpenChange={(next) => {
        setOpen(next);
        if (next) onOpen();
      }}
      openOnInputClick
    >
      <Autocomplete.Input
        ref={input}
        id={id}
        placeholder={placeholder}
        spellCheck={false}
        aria-invalid={errorId !== undefined}
        aria-describedby={errorId}
        onFocus={onOpen}
        onBlur={commit}
        onKeyDown={(event) => {
          // Enter selects the highlighted suggestion, if any.
          const isChoosing = event.currentTarget.hasAttribute("aria-activedescendant");
          if (event.key === "Enter" && !isChoosing) commit();
        }}
      />
      <Autocomplete.Portal>
        <Autocomplete.Positioner className={styles.suggestionsPlace} align="start" sideOffset={4}>
          <Autocomplete.Popup className={styles.suggestions}>
            <Autocomplete.List>
              {(suggestion: Suggestion) => (
                <Autocomplete.Item key={suggestion.value} value={suggestion} className={styles.suggestion}>
                  <span>{suggestion.value}</span>
                  {suggestion.count === null ? null : (
                    <span className={styles.count}>{formatCount(suggestion.count)}</span>
                  )}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}
