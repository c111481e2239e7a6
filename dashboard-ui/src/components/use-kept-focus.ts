import { useEffect } from "react";

/** Parts of a page with a name or a purpose, which a screen reader announces. */
const PARTS = "section, form, fieldset, article, main";

/**
 * Keeps the keyboard's place on a page when the focused element goes away, such as a button that clears the filters: its nearest
 * part of the page that is left gets the focus. Otherwise the focus falls back to the document, and a screen reader begins at its top.
 * Dialogs, and changes that know a better place, set the focus themselves.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    const main = document.getElementById("main");
    if (main === null) return;
    let ancestors: readonly Element[] = [];
    let frame = 0;
    const remember = ({ target }: FocusEvent) => {
      ancestors = target instanceof Element ? ancestorsWithin(main, target) : [];
    };
    const keep = () => {
      if (document.activeElement === document.body) focusPart(ancestors);
      ancestors = [];
    };
    const removals = new MutationObserver(() => {
      if (ancestors[0]?.isConnected !== false) return;
      cancelAnimationFrame(frame);
      // A component that knows a better place has set the focus by the second frame: dialogs do so in the first.
      frame = requestAnimationFrame(() => {
        frame = requestAnimationFrame(keep);
      });
    });
    removals.observe(main, { childList: true, subtree: true });
    document.addEventListener("focusin", remember);
    return () => {
      cancelAnimationFrame(frame);
      removals.disconnect();
      document.removeEventListener("focusin", remember);
    };
  }, []);
}

/** An element of the page and its ancestors, from the inside out. Empty for an element outside of the page, such as in a dialog. */
function ancestorsWithin(main: Element, element: Element): readonly Element[] {
  const all: Element[] = [];
  for (let one: Element | null = element; one !== null; one = one.parentElement) {
    all.push(one);
    if (one === main) return all;
  }
  return [];
}

function focusPart(ancestors: readonly Element[]): void {
  const part = ancestors.find((ancestor) => ancestor.isConnected)?.closest<HTMLElement>(PARTS);
  if (part == null) return;
  if (!part.hasAttribute("tabindex")) {
    part.tabIndex = -1;
    part.addEventListener("blur", () => part.removeAttribute("tabindex"), { once: true });
  }
  part.focus({ preventScroll: true });
}
