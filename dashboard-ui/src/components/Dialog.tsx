import { type ReactNode, useEffect, useId, useRef } from "react";

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Called when the dialog is dismissed by Escape; absent when it may only be closed by its own buttons. */
  readonly onDismiss?: (() => void) | undefined;
}

/** A modal dialog: the browser's own, which keeps focus inside and gives it back without a script's help. */
export function Dialog({ title, children, onDismiss }: DialogProps) {
  const titleId = useId();
  const element = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);

  return (
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onDismiss?.();
      }}
      // Browsers let a second Escape through without asking.
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onDismiss?.();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
