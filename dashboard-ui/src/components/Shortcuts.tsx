import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { LazyDialog } from "./lazy.tsx";
import { lazyCode } from "./lazy-code.tsx";
import type { PageLink } from "./pages.ts";

export const shortcutsDialog = lazyCode(async () => (await import("./ShortcutsDialog.tsx")).ShortcutsDialog);

/** The maximum delay between `g` and the second key. */
const SEQUENCE_MS = 1_500;

interface ShortcutsProps {
  readonly pages: readonly PageLink[];
  /** Whether the list of shortcuts is shown. */
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly onPalette: () => void;
}

/** Keyboard shortcuts: Ctrl or Cmd and `k` opens the command palette, `g` and a letter opens a page, `/` focuses the search, `?` shows the list of shortcuts. */
export function Shortcuts({ pages, isOpen, setOpen, onPalette }: ShortcutsProps) {
  const navigate = useNavigate();

  const openPalette = useRef(onPalette);
  useEffect(() => {
    openPalette.current = onPalette;
  });

  useEffect(() => {
    let goingSinceMs = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (event.altKey || event.defaultPrevented) return;
      const isBehindDialog = document.querySelector('[role="dialog"][data-open], dialog[open]') !== null;
      if (event.ctrlKey || event.metaKey) {
        if (event.key.toLowerCase() !== "k" || event.shiftKey) return;
        event.preventDefault();
        if (!isBehindDialog) openPalette.current();
        return;
      }
      if (isTyping(event.target) || isBehindDialog) return;
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
  }, [pages, navigate, setOpen]);

  return isOpen ? (
    <LazyDialog code={shortcutsDialog} props={{ pages, onClose: () => setOpen(false) }} />
  ) : null;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
