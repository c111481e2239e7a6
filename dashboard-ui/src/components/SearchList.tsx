import { Combobox } from "@base-ui/react/combobox";
import { type RefObject, useState } from "react";
import { loadErrorTextOf } from "../api/errors.ts";
import styles from "./SearchSelect.module.css";
import type { SearchOption, SearchProps } from "./SearchSelect.tsx";
import { searchTextOf } from "./search-text.ts";
import textStyles from "./text.module.css";

interface SearchListProps extends SearchProps {
  readonly id: string;
  readonly anchor: RefObject<HTMLButtonElement | null>;
  readonly onClose: () => void;
}

/** The open list of a {@link SearchSelect}. */
export function SearchList(props: SearchListProps) {
  const { searchLabel, searchPlaceholder, value, optionsFor, onChoose, onSearch, anchor, onClose } = props;
  const [search, setSearch] = useState("");
  const options = optionsFor(searchTextOf(search));
  const status = statusOf(props, options.length === 0);
  return (
    <Combobox.Root
      items={options}
      filter={null}
      value={options.find((option) => option.value === value) ?? null}
      itemToStringLabel={(option: SearchOption) => option.label}
      isItemEqualToValue={(one: SearchOption, other: SearchOption) => one.value === other.value}
      inputValue={search}
      onInputValueChange={(next) => {
        setSearch(next);
        onSearch?.(searchTextOf(next));
      }}
      autoHighlight
      open
      onOpenChange={(isOpen, { event }) => {
        // The button closes its list by itself.
        const isButton = event.target instanceof Node && anchor.current?.contains(event.target) === true;
        if (!isOpen && !isButton) onClose();
      }}
      onValueChange={(option) => {
        if (option !== null) onChoose(option.value);
      }}
    >
      <Combobox.Portal>
        <Combobox.Positioner anchor={anchor} className={styles.positioner} sideOffset={4} align="start">
          <Combobox.Popup id={props.id} className={styles.popup} finalFocus={anchor} aria-label={searchLabel}>
            <Combobox.Input
              className={styles.search}
              aria-label={searchLabel}
              placeholder={searchPlaceholder ?? "Search"}
              spellCheck={false}
            />
            <Combobox.Status className={styles.status}>{status}</Combobox.Status>
            <Combobox.Empty className={styles.empty}>
              {status === null ? "Nothing found." : null}
            </Combobox.Empty>
            <Combobox.List className={styles.list} aria-label={searchLabel}>
              {(option: SearchOption) => (
                <Combobox.Item key={option.value} value={option} className={styles.option}>
                  <span className={styles.text}>{option.label}</span>
                  {option.note === undefined ? null : <span className={textStyles.small}>{option.note}</span>}
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}

/** What is said of options that are missing: they could not be loaded, or not yet. */
function statusOf({ query }: SearchProps, isEmpty: boolean): string | null {
  if (query === undefined) return null;
  if (query.isError) return `Suggestions could not be loaded. ${loadErrorTextOf(query.error)}`;
  return isEmpty && (query.isLoading || query.isPlaceholderData) ? "Loading…" : null;
}
