import { Ellipsis } from "../icons/icons.ts";
import buttonStyles from "./Button.module.css";
import { classes } from "./classes.ts";
import { Menu, type MenuPart } from "./Menu.tsx";

interface RowMenuProps {
  /** The row's name, for the button's name: "Actions for production". */
  readonly of: string;
  readonly parts: readonly MenuPart[];
}

/** The actions of a row, behind a quiet button. */
export function RowMenu({ of, parts }: RowMenuProps) {
  return (
    <Menu
      parts={parts}
      trigger={(trigger) => (
        <button
          type="button"
          aria-label={`Actions for ${of}`}
          className={classes(
            buttonStyles.button,
            buttonStyles.buttonQuiet,
            buttonStyles.iconOnly,
            buttonStyles.small,
          )}
          {...trigger}
        >
          <Ellipsis size={16} aria-hidden="true" />
        </button>
      )}
    />
  );
}
