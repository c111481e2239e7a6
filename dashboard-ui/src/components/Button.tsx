import type { ButtonHTMLAttributes } from "react";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: "primary" | "plain" | "danger";
  /** While true the button waits for an answer and can't be pressed again. */
  readonly busy?: boolean;
}

export function Button({ look = "plain", busy = false, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${look}`}
      // Not `disabled`: a button that is would lose the focus, and a keyboard its place.
      aria-disabled={busy}
      aria-busy={busy}
      onClick={(event) => {
        // Of a submit button too, which Enter in a field presses.
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  );
}
