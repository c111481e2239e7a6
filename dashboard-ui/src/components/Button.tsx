import { type ButtonHTMLAttributes, type ReactNode, useId } from "react";
import styles from "./Button.module.css";
import { classes } from "./classes.ts";
import { Spinner } from "./Spinner.tsx";
import { Tip, useTip } from "./Tooltip.tsx";
import textStyles from "./text.module.css";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: "primary" | "plain" | "danger" | "quiet";
  readonly size?: "normal" | "small";
  /** An icon before the label. */
  readonly icon?: ReactNode;
  /** While true the button waits for an answer and can't be pressed again. */
  readonly busy?: boolean;
  /** Why the button can't be pressed now. It is then off, can still be focused, and shows the reason. */
  readonly offReason?: string | undefined;
}

const LOOKS = {
  plain: undefined,
  primary: styles.buttonPrimary,
  danger: styles.buttonDanger,
  quiet: styles.buttonQuiet,
};

/** A button that shows a spinner while `busy`. */
export function Button(props: ButtonProps) {
  const {
    look = "plain",
    size = "normal",
    icon,
    busy = false,
    offReason,
    children,
    onClick,
    ...rest
  } = props;
  const reasonId = useId();
  const tip = useTip<HTMLButtonElement>(offReason);
  const isOff = offReason !== undefined;
  return (
    <>
      <button
        type="button"
        {...rest}
        {...tip.props}
        className={classes(styles.button, LOOKS[look], size === "small" && styles.small, rest.className)}
        // The `disabled` attribute would take the focus away and lose the keyboard's position.
        aria-disabled={busy || isOff}
        aria-busy={busy}
        aria-describedby={isOff ? reasonId : rest["aria-describedby"]}
        data-off={isOff ? "" : undefined}
        onClick={(event) => {
          // Enter in a field presses a submit button too.
          if (busy || isOff) event.preventDefault();
          else onClick?.(event);
        }}
      >
        {busy ? <Spinner /> : icon}
        {children}
      </button>
      {isOff ? (
        <span id={reasonId} className={textStyles.visuallyHidden}>
          {offReason}
        </span>
      ) : null}
      <Tip state={tip} />
    </>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "aria-label"> {
  /** The button's name, which its tooltip shows. */
  readonly label: string;
  readonly icon: ReactNode;
  readonly size?: "normal" | "small";
}

/** A quiet button with an icon instead of a label. */
export function IconButton({ label, icon, size = "normal", ...rest }: IconButtonProps) {
  const tip = useTip<HTMLButtonElement>(label);
  return (
    <>
      <button
        type="button"
        {...rest}
        {...tip.props}
        aria-label={label}
        className={classes(
          styles.button,
          styles.buttonQuiet,
          styles.iconOnly,
          size === "small" && styles.small,
          rest.className,
        )}
      >
        {icon}
      </button>
      <Tip state={tip} />
    </>
  );
}
