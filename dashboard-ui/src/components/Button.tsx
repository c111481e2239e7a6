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

/** A button; while `busy`, with a spinner. */
export function Button({ look = "plain", busy = false, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(styles.button, look === "plain" ? undefined : LOOKS[look])}
      // Not `disabled`: a button that is would lose the focus, and a keyboard its place.
      aria-disabled={busy}
      aria-busy={busy}
      onClick={(event) => {
        // Of a submit button too, which Enter in a field presses.
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy ? <Spinner /> : null}
      {children}
    </button>
  );
}
