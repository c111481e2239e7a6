import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, type RefObject, useEffect, useState } from "react";
import styles from "./Dialog.module.css";

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Called when Escape dismisses the dialog. Without it, only the dialog's own buttons close it. */
  readonly onDismiss?: (() => void) | undefined;
  /** What has the focus first. By default the first element that can have it. */
  readonly initialFocus?: RefObject<HTMLElement | null> | undefined;
}

/** A modal dialog, open while it is rendered. */
export function Dialog({ title, children, onDismiss, initialFocus }: DialogProps) {
  const [opener] = useState(findOpener);
  useEffect(
    () => () => {
      const next = focusAfter(opener);
      next?.focus();
      if (next !== null) focusPageWhenGone(next);
      // The page takes no focus until the dialog has let go of it.
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) focusAfter(opener)?.focus({ preventScroll: true });
      });
    },
    [opener],
  );
  return (
    // A click outside is usually a slip, and closing would lose what the user typed.
    <Base.Root open disablePointerDismissal onOpenChange={(open) => (open ? undefined : onDismiss?.())}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Popup
          className={styles.dialog}
          initialFocus={initialFocus}
          finalFocus={() => focusAfter(opener)}
        >
          <Base.Title>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

let latestOpener: Element | null = null;

/** The focused element. When one dialog replaces another, the element that had the focus before both. */
function findOpener(): Element | null {
  const focused = document.activeElement;
  if (focused?.closest('[role="dialog"], dialog') == null) latestOpener = focused;
  return latestOpener;
}

/** The element to focus after the dialog closes. The opener may be gone together with its row. */
function focusAfter(opener: Element | null): HTMLElement | null {
  return opener instanceof HTMLElement && opener.isConnected && opener !== document.body
    ? opener
    : document.getElementById("main");
}

/** What the dialog has changed may take its opener away when the page learns of it. The keyboard goes on at the page then, unless it is elsewhere. */
function focusPageWhenGone(opener: HTMLElement): void {
  const removals = new MutationObserver(() => {
    if (opener.isConnected) return;
    end();
    if (document.activeElement === document.body) {
      document.getElementById("main")?.focus({ preventScroll: true });
    }
  });
  const onFocus = ({ target }: FocusEvent) => {
    if (target !== opener) end();
  };
  const end = () => {
    removals.disconnect();
    document.removeEventListener("focusin", onFocus);
  };
  removals.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("focusin", onFocus);
}
