import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { LazyDialog } from "./lazy.tsx";
import { lazyCode } from "./lazy-code.tsx";
import type { PageLink } from "./pages.ts";
import { hasKeyShortcuts } from "./shortcut-setting.ts";

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
      const letter = letterOf(event);
      if (event.ctrlKey || event.metaKey) {
        if (letter.toLowerCase() !== "k" || event.shiftKey) return;
        event.preventDefault();
        if (!isBehindDialog) openPalette.current();
        return;
      }
      if (isTyping(event.target) || isBehindDialog || !hasKeyShortcuts()) return;
      const isSecond = performance.now() - goingSinceMs < SEQUENCE_MS;
      goingSinceMs = Number.NEGATIVE_INFINITY;
      if (isSecond) {
        const page = pages.find(({ shortcut }) => shortcut === letter);
        if (page !== undefined) void navigate({ to: page.to });
      } else if (letter === "g") goingSinceMs = performance.now();
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

/** The letter of a key: of another script's, such as Cyrillic, the Latin letter that is in its place on most keyboards. */
function letterOf({ key, code, shiftKey }: KeyboardEvent): string {
  if (!/^\p{L}$/u.test(key) || /^\p{Script=Latin}$/u.test(key) || !code.startsWith("Key")) return key;
  const letter = code.slice("Key".length);
  return shiftKey ? letter : letter.toLowerCase();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
