import { type RefObject, useCallback, useEffect, useRef } from "react";

/** Returns a function that tells whether the user is reading the log: they have scrolled away from its top or opened an entry. */
export function useIsReading(scroller: RefObject<HTMLElement | null>, isOpen: boolean): () => boolean {
  const hasOpened = useRef(false);
  useEffect(() => {
    hasOpened.current = isOpen;
  }, [isOpen]);
  return useCallback(() => hasOpened.current || (scroller.current?.scrollTop ?? 0) > 0, [scroller]);
}
