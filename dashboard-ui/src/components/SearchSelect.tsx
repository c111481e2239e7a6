import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useId, useRef, useState } from "react";
import { ChevronDown } from "../icons/icons.ts";
import { classes } from "./classes.ts";
import { FieldNote, noted } from "./FieldNote.tsx";
import formStyles from "./form.module.css";
import { Deferred, lazyCode } from "./lazy-code.tsx";
import styles from "./SearchSelect.module.css";

export interface SearchOption {
  readonly value: string;
  readonly label: string;
  /** What helps to choose, such as a price or a count. */
  readonly note?: string | undefined;
}

/** The state of a query for options. */
export type OptionsQuery = Pick<
  UseQueryResult<unknown, unknown>,
  "isLoading" | "isPlaceholderData" | "isError" | "error" | "isFetching" | "refetch"
>;

/** What the list of options needs. */
export interface SearchProps {
  /** The name of the search field: "Search models". */
  readonly searchLabel: string;
  readonly searchPlaceholder?: string | undefined;
  readonly value: string;
  /** The options for a text, the best first: Enter chooses it. */
  readonly optionsFor: (search: string) => readonly SearchOption[];
  /** The query that options come from. If it fails, what is known without it can still be chosen. */
  readonly query?: OptionsQuery | undefined;
  readonly onChoose: (value: string) => void;
  readonly onSearch?: ((search: string) => void) | undefined;
}

interface SearchSelectProps extends SearchProps {
  readonly label: ReactNode;
  /** The text of the chosen value; `null` where none is chosen. */
  readonly text: string | null;
  readonly placeholder: string;
  readonly hint?: ReactNode;
  readonly error?: ReactNode;
  /** Called before the options are shown. */
  readonly onOpen?: () => void;
}

export const searchList = lazyCode(async () => (await import("./SearchList.tsx")).SearchList);

/** A labelled choice of one of many values: a button, whose list with a search field is loaded when it is needed. */
export function SearchSelect(props: SearchSelectProps) {
  const { label, text, placeholder, hint, error, onOpen, ...search } = props;
  const id = useId();
  const listId = `${id}-list`;
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  const note = { inputId: id, hint, error };
  const open = () => {
    onOpen?.();
    // What could not be loaded is asked for again.
    if (search.query?.isError === true && !search.query.isFetching) void search.query.refetch();
    setOpen(true);
  };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <button
        ref={button}
        id={id}
        type="button"
        role="combobox"
        title={text ?? undefined}
        className={styles.button}
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-haspopup="dialog"
        {...noted(note)}
        onPointerOver={searchList.preload}
        onFocus={searchList.preload}
        onClick={() => (isOpen ? setOpen(false) : open())}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          open();
        }}
      >
        <span className={classes(styles.text, text === null && styles.none)}>{text ?? placeholder}</span>
        <ChevronDown size={16} aria-hidden="true" />
      </button>
      {isOpen ? (
        <Deferred
          code={searchList}
          props={{ ...search, id: listId, anchor: button, onClose: () => setOpen(false) }}
        />
      ) : null}
      <FieldNote {...note} />
    </div>
  );
}
