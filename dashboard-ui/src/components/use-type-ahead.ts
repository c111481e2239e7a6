import { useCallback, useEffectEvent, useLayoutEffect, useRef } from "react";

/**
 * Keeps what is typed after a field was asked for and before it has the focus, which takes at least a frame, and longer while code is
 * loaded. Without it, these characters would go to what has the focus: a message that is being written, or the page's shortcuts.
 *
 * @returns a function that the field calls when it is focused. It returns what was typed before, once.
 */
export function useTypeAhead(isOpening: boolean, onCancel: () => void): () => string {
  const typed = useRef("");
  const cancel = useEffectEvent(onCancel);
  useLayoutEffect(() => {
    if (!isOpening) return;
    typed.current = "";
    const end = new AbortController();
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const { key } = event;
      if (key === "Backspace") typed.current = typed.current.slice(0, -1);
      else if (key === "Escape") cancel();
      else if (key.length === 1) typed.current += key;
      // Enter would send the message that is being written.
      else if (key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", onKey, { capture: true, signal: end.signal });
    // The field has the focus, or a dialog that says why there is no field.
    addEventListener("focusin", () => end.abort(), { capture: true, signal: end.signal });
    return () => end.abort();
  }, [isOpening]);
  return useCallback(() => {
    const text = typed.current;
    typed.current = "";
    return text;
  }, []);
}
