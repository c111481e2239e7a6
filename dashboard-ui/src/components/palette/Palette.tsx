import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useState } from "react";
import { loadErrorTextOf } from "../../api/errors.ts";
import { Search } from "../../icons/icons.ts";
import dialogStyles from "../Dialog.module.css";
import type { PageLink } from "../pages.ts";
import { Spinner } from "../Spinner.tsx";
import textStyles from "../text.module.css";
import type { Command, CommandGroup } from "./commands.ts";
import styles from "./Palette.module.css";
import { useCommands } from "./use-commands.tsx";

export interface PaletteProps {
  readonly pages: readonly PageLink[];
  readonly isOperator: boolean;
  /** Returns what was typed before the palette had the focus. */
  readonly takeTyped: () => string;
  readonly onSignOut: () => void;
  readonly onShowShortcuts: () => void;
  readonly onClose: () => void;
}

/** Finds pages, keys, models, requests and accounts by what is typed, and does what is chosen. */
export function Palette(props: PaletteProps) {
  const { isOperator, takeTyped, onClose } = props;
  const [text, setText] = useState("");
  const { groups, isSearching, error } = useCommands(text, props);
  const run = (command: Command) => {
    onClose();
    command.run();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialogStyles.backdrop} />
        <Dialog.Popup className={styles.palette} aria-label="Search everything">
          <Autocomplete.Root
            open
            inline
            items={groups}
            value={text}
            onValueChange={setText}
            // The groups hold what matches already.
            filter={null}
            autoHighlight="always"
            keepHighlight
            itemToStringValue={(command: Command) => command.label}
          >
            <div className={styles.field}>
              {isSearching ? <Spinner /> : <Search size={17} aria-hidden="true" />}
              <Autocomplete.Input
                className={styles.input}
                onFocus={() => setText(text + takeTyped())}
                aria-label="Search everything"
                placeholder={isOperator ? "Account, e-mail, key or page" : "Page, key, model or request ID"}
                spellCheck={false}
              />
            </div>
            <Autocomplete.Status className={styles.status}>
              {error === null ? null : `Not everything could be searched. ${loadErrorTextOf(error)}`}
            </Autocomplete.Status>
            <Autocomplete.Empty className={styles.empty}>
              {isSearching ? "Searching…" : error === null ? "Nothing found." : null}
            </Autocomplete.Empty>
            <Autocomplete.List className={styles.list}>
              {(group: CommandGroup) => (
                <Autocomplete.Group key={group.value} items={group.items} className={styles.group}>
                  <Autocomplete.GroupLabel className={styles.groupLabel}>
                    {group.value}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(command: Command) => (
                      <Autocomplete.Item
                        key={command.id}
                        value={command}
                        className={styles.item}
                        onClick={() => run(command)}
                      >
                        {command.icon}
                        <span className={styles.label} dir="auto">
                          {command.label}
                        </span>
                        {command.note === undefined ? null : (
                          <span className={styles.note}>{command.note}</span>
                        )}
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
          <Dialog.Close className={textStyles.visuallyHidden}>Close</Dialog.Close>
          <p className={styles.foot} aria-hidden="true">
            <span>
              <kbd>↑</kbd> <kbd>↓</kbd> to move
            </span>
            <span>
              <kbd>↵</kbd> to open
            </span>
            <span>
              <kbd>Esc</kbd> to close
            </span>
          </p>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
