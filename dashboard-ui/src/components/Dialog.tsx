import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useEffect, useState } from "react";
import styles from "./Dialog.module.css";

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Called when the dialog is dismissed by Escape; absent when it may only be closed by its own buttons. */
  readonly onDismiss?: (() => void) | undefined;
}

/** A modal dialog, open for as long as it is there. */
export function Dialog({ title, children, onDismiss }: DialogProps) {
  const [opener] = useState(findOpener);
  useEffect(() => () => focusAfter(opener)?.focus(), [opener]);
  return (
    // A click beside it is more often a slip than a wish, and what was typed would be gone.
    <Base.Root open disablePointerDismissal onOpenChange={(open) => (open ? undefined : onDismiss?.())}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Popup className={styles.dialog} finalFocus={() => focusAfter(opener)}>
          <Base.Title>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

let latestOpener: Element | null = null;

/** What had the focus; where one dialog follows upon another, what had it before both. */
function findOpener(): Element | null {
  const focused = document.activeElement;
  if (focused?.closest('[role="dialog"]') == null) latestOpener = focused;
  return latestOpener;
}

/** What opened the dialog may be gone, with the row that it was in. */
function focusAfter(opener: Element | null): HTMLElement | null {
  return opener instanceof HTMLElement && opener.isConnected && opener !== document.body
    ? opener
    : document.getElementById("main");
}
