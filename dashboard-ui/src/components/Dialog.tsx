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
      const next = opener?.isConnected === true ? opener : document.getElementById("main");
      if (next instanceof HTMLElement) next.focus();
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
      // Browsers let one close request in a row be refused, not two: what may not be dismissed comes back.
      onClose={() => {
        if (element.current === null || element.current.open) return;
        if (onDismiss === undefined) element.current.showModal();
        else onDismiss();
      }}
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
