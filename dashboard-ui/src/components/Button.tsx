import type { ButtonHTMLAttributes } from "react";
import styles from "./Button.module.css";
import { classes } from "./classes.ts";
import { Spinner } from "./Spinner.tsx";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: "primary" | "plain" | "danger";
  /** While true the button waits for an answer and can't be pressed again. */
  readonly busy?: boolean;
}

const LOOKS = { primary: styles.buttonPrimary, danger: styles.buttonDanger };

/** A button that shows a spinner while `busy`. */
export function Button({ look = "plain", busy = false, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(styles.button, look === "plain" ? undefined : LOOKS[look])}
      // The `disabled` attribute would take the focus away and lose the keyboard's position.
      aria-disabled={busy}
      aria-busy={busy}
      onClick={(event) => {
        // Enter in a field presses a submit button too.
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy ? <Spinner /> : null}
      {children}
    </button>
  );
}
