import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Button } from "./Button.tsx";
import dialogStyles from "./Dialog.module.css";
import { Dialog } from "./Dialog.tsx";
import listsStyles from "./lists.module.css";
import type { PageLink } from "./pages.ts";

/** The maximum delay between `g` and the second key. */
const SEQUENCE_MS = 1_500;

/** Keyboard shortcuts: `g` and a letter opens a page, `/` focuses the search, `?` shows the list of shortcuts. */
export function Shortcuts({ pages }: { readonly pages: readonly PageLink[] }) {
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);

  useEffect(() => {
    let goingSinceMs = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector('[role="dialog"]') !== null) return;
      const isSecond = performance.now() - goingSinceMs < SEQUENCE_MS;
      goingSinceMs = Number.NEGATIVE_INFINITY;
      if (isSecond) {
        const page = pages.find(({ shortcut }) => shortcut === event.key);
        if (page !== undefined) void navigate({ to: page.to });
      } else if (event.key === "g") goingSinceMs = performance.now();
      else if (event.key === "?") setOpen(true);
      else if (event.key === "/") {
        const search = document.querySelector<HTMLElement>('main input[type="search"]');
        search?.focus();
        if (search !== null) event.preventDefault();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [pages, navigate]);

  if (!isOpen) return null;
  const close = () => setOpen(false);
  return (
    <Dialog title="Keyboard shortcuts" onDismiss={close}>
      <dl className={listsStyles.facts}>
        {pages.map(({ label, shortcut }) => (
          <div key={label}>
            <dt>
              <kbd>g</kbd> <kbd>{shortcut}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Search on this page</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>Show keyboard shortcuts</dd>
        </div>
      </dl>
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
