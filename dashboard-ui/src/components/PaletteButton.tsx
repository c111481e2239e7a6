import { Search } from "../icons/icons.ts";
import styles from "./PaletteButton.module.css";
import { COMMAND_KEY } from "./platform.ts";

/** Opens the command palette. */
export function PaletteButton({ onOpen }: { readonly onOpen: () => void }) {
  return (
    <button type="button" className={styles.open} onClick={onOpen}>
      <Search size={15} aria-hidden="true" />
      <span>Search</span>
      <kbd>{COMMAND_KEY} K</kbd>
    </button>
  );
}
