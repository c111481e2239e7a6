import { type RefObject, useEffect, useRef } from "react";

/** So near to the end of the page counts as there. */
const NEAR_PX = 64;

/**
 * Keeps the end of the page in view while something on it grows, unless its reader has scrolled away from the end.
 *
 * @returns what brings the reader to the end, and to follow it again.
 */
export function useFollowing(growing: RefObject<HTMLElement | null>): () => void {
  // Whoever has just come reads from the top.
  const isFollowing = useRef(false);

  useEffect(() => {
    let lastTop = document.documentElement.scrollTop;
    const onScroll = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      if (scrollHeight - scrollTop - clientHeight < NEAR_PX) isFollowing.current = true;
      // Only who goes up has had enough: the end may also have gone down meanwhile.
      else if (scrollTop < lastTop) isFollowing.current = false;
      lastTop = scrollTop;
    };
    const onGrowth = new ResizeObserver(() => {
      if (isFollowing.current) toTheEnd();
    });
    if (growing.current !== null) onGrowth.observe(growing.current);
    addEventListener("scroll", onScroll, { passive: true });
    return () => {
      removeEventListener("scroll", onScroll);
      onGrowth.disconnect();
    };
  }, [growing]);

  return () => {
    isFollowing.current = true;
    toTheEnd();
  };
}

function toTheEnd(): void {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
